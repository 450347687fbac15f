// counters: statistics that cost the counting thread one plain add to its own cache line.
//
// Contract    Sum() counts every Add() that happens before it, each once; concurrent ones maybe.
// Data        slots_[i] is written by the thread that owns index i; the last slot by all others.
// Invariants  I1 at most one live thread owns an index (thread_index). I2 a slot is never cleared.
// Protocol    locked: lock; sum += n; unlock.
//             here:   owner: relaxed load, relaxed store. Threads without an index: fetch_add.
// Ordering    none: counters order nothing. An index passes from thread to thread under a mutex.
// Progress    wait-free.
// Tests       tests/unit/rcu/counters_test.cc, tests/race/rcu_counters_race_test.cc
#ifndef NFSWALK_RCU_COUNTERS_H_
#define NFSWALK_RCU_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rcu/thread_index.h"

namespace nfswalk::rcu {

// N counters that only grow (modulo 2^64). About 32 KiB for up to 8 counters. The memory is
// ordinary heap, which a frozen PageRegion does not include: walkers count.
template <size_t N>
class CounterSet {
 public:
  CounterSet() : slots_(std::make_unique<Slot[]>(kMaxThreadIndex + 1)) {}

  void Add(size_t i, uint64_t n = 1) {
    const uint32_t index = ThreadIndex();
    std::atomic<uint64_t>& value = slots_[index].values[i];
    if (index != kNoThreadIndex) [[likely]] {
      value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    } else {
      value.fetch_add(n, std::memory_order_relaxed);
    }
  }

  uint64_t Sum(size_t i) const {
    uint64_t sum = 0;
    for (size_t slot = 0; slot <= kMaxThreadIndex; ++slot) {
      sum += slots_[slot].values[i].load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  struct alignas(64) Slot {
    std::array<std::atomic<uint64_t>, N> values{};
  };

  std::unique_ptr<Slot[]> slots_;
};

// One number that grows and shrinks, in 4 KiB. Threads rarely write one line.
class ShardedCounter {
 public:
  // Returns what this shard has counted since, a number that only says how busy its threads are.
  int64_t Add(int64_t n) {
    return shards_[ThreadIndex() % kShards].value.fetch_add(n, std::memory_order_relaxed) + n;
  }
  // Exact if no Add() is concurrent; otherwise it may even be negative for a moment.
  int64_t Sum() const {
    int64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.value.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static constexpr size_t kShards = 64;
  struct alignas(64) Shard {
    std::atomic<int64_t> value{0};
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_COUNTERS_H_
