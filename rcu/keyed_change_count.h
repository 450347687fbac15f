// keyed_change_count: a change count that can tell, once something has changed, whether it was
// about one of some keys.
//
// Contract    that of change_count.h for TrySample() and Validate(), of changes under any key.
//             Sum(keys) that was read between a TrySample() and a Validate() that returned true is
//             of that sample. While it stays the same, what was read of these keys stays so, too.
//             If TrySample() and then the same Sum() are read, that new sample is as good as the
//             old one for what was read of these keys.
// Data        field   | written by
//             any_    | Change, as in change_count.h
//             shards_ | Change(), one increment: the changes begun, by hash of their key
// Invariants  I1 a change is counted in any_, then in its key's shard, before it has stored
//             anything. I2 no shard decreases or wraps (64 bits): a sum of shards is the same only
//             if each of them is.
// Ordering    O1 Change() release fence between its increments -> Sum() acquire load: a reader that
//                saw a change in a shard finds it begun in any_. So Validate() after Sum() is false
//                if the sum counts a change behind the sample; and TrySample() before Sum() counts
//                none that Sum() does not: all of its changes have ended (O1 of change_count.h).
//             O2 Change() release fence behind both -> Sum() acquire fence: a reader that saw one
//                store of a change sees it in the shard.
//             O3 Sum() loads are acquire: later reads are no older.
// Staleness   none; keys that share a shard invalidate each other.
// Progress    as change_count.h; Sum() loads at most Keys::kMax words.
// Lifetime    as change_count.h, with the same Sum() in place of Validate().
// Tests       tests/unit/rcu/seqcount_test.cc, tests/race/path_cache_race_test.cc,
//             tests/litmus/counts_litmus_test.cc
#ifndef NFSWALK_RCU_KEYED_CHANGE_COUNT_H_
#define NFSWALK_RCU_KEYED_CHANGE_COUNT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rcu/change_count.h"
#include "rcu/sync_point.h"

namespace nfswalk::rcu {

// Thread safety: everything, from any thread, any number of changes at once. Memory: 8 KiB.
class KeyedChangeCount {
 public:
  // Some keys; an address stands for what it points to.
  class Keys {
   public:
    static constexpr size_t kMax = 20;

    // Until the next Clear() the keys are too many after the kMax-th: they have no Sum().
    void Add(const void* key) {
      if (count_ < kMax) shards_[count_] = ShardOf(key);
      if (count_ <= kMax) ++count_;
    }
    void Clear() { count_ = 0; }
    bool fit() const { return count_ <= kMax; }

   private:
    friend class KeyedChangeCount;

    std::array<uint16_t, kMax> shards_ = {};
    uint16_t count_ = 0;
  };

  // As ChangeCount::Change, of what `key` stands for. nullptr: of another kind, does nothing.
  class Change {
   public:
    Change(KeyedChangeCount& count, const void* key) : any_(count.any_, key != nullptr) {
      if (key == nullptr) return;
      NFSWALK_SYNC_POINT("keyed-change:between-counts");
      count.shards_[ShardOf(key)].fetch_add(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_release);  // O2: pairs with Sum()
    }

   private:
    const ChangeCount::Change any_;  // its fence is O1's
  };

  std::optional<uint64_t> TrySample() const { return any_.TrySample(); }
  bool Validate(uint64_t sample) const { return any_.Validate(sample); }

  // The count of changes begun under `keys`. Preconditions: they fit.
  uint64_t Sum(const Keys& keys) const {
    std::atomic_thread_fence(std::memory_order_acquire);  // O2: pairs with Change()
    uint64_t sum = 0;
    for (size_t i = 0; i < keys.count_; ++i) {
      sum +=
          shards_[keys.shards_[i]].load(std::memory_order_acquire);  // O1, O3: pair with Change()
    }
    return sum;
  }

 private:
  static constexpr int kShardBits = 10;
  static uint16_t ShardOf(const void* key) {
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // Fibonacci hashing
    return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(key) * kGolden >> (64 - kShardBits));
  }

  ChangeCount any_;
  std::array<std::atomic<uint64_t>, size_t{1} << kShardBits> shards_{};
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_KEYED_CHANGE_COUNT_H_
