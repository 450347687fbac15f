// change_count: detects with one load whether anything of a kind has changed since a sample.
//
// Contract    what was read between TrySample() and a Validate() that returns true is as it was at
//             TrySample(), and stays so while Validate() returns true.
// Data        field  | written by
//             begun_ | Change(), one increment
//             ended_ | ~Change(), one increment
// Invariants  I1 ended_ <= begun_. I2 neither decreases or wraps (64 bits). I3 the guarded state
//             changes only while a Change exists.
// Protocol    locked:  lock; read; keep; unlock. Later: lock; use what was kept; unlock.
//             here:    s = TrySample(); read; if Validate(s) keep {values, s}. Later: if
//             Validate(s) use them.
// Ordering    O1 ~Change() release increment -> TrySample() acquire load: a reader that begins
//                after a change sees all of it.
//             O2 Change() release fence -> Validate() acquire fence: a reader that saw one store of
//                a change sees that it has begun.
//             O3 Validate() is an acquire load as well: later reads are no older than it.
// Staleness   none: a change counts once it has begun, before it has stored anything.
// Progress    readers never wait; writers are wait-free.
// Lifetime    the owner's. If memory is freed a grace period after a Change that made it
//             unreachable, it is there for an RCU section in which Validate() was true.
// Tests       tests/unit/rcu/seqcount_test.cc, tests/race/path_cache_race_test.cc,
//             tests/litmus/counts_litmus_test.cc
#ifndef NFSWALK_RCU_CHANGE_COUNT_H_
#define NFSWALK_RCU_CHANGE_COUNT_H_

#include <atomic>
#include <cstdint>
#include <optional>

namespace nfswalk::rcu {

// Thread safety: everything, from any thread, any number of changes at once.
class ChangeCount {
 public:
  // Exists while something is being changed. Changes may overlap and nest. With `counts` false it
  // is about something of another kind, and does nothing.
  class Change {
   public:
    explicit Change(ChangeCount& count, bool counts = true) : count_(counts ? &count : nullptr) {
      if (!counts) return;
      count.begun_.fetch_add(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_release);  // O2: pairs with Validate()
    }
    ~Change() {
      if (count_ == nullptr) return;
      count_->ended_.fetch_add(1, std::memory_order_release);  // O1: pairs with TrySample()
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    ChangeCount* const count_;
  };

  // A sample for Validate(); nullopt while something is being changed.
  std::optional<uint64_t> TrySample() const {
    const uint64_t ended = ended_.load(std::memory_order_acquire);  // O1: pairs with ~Change()
    if (begun_.load(std::memory_order_relaxed) != ended) return std::nullopt;
    return ended;
  }

  bool Validate(uint64_t sample) const {
    std::atomic_thread_fence(std::memory_order_acquire);      // O2: pairs with Change()
    return begun_.load(std::memory_order_acquire) == sample;  // O3: pairs with Change()
  }

 private:
  alignas(64) std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> ended_{0};
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_CHANGE_COUNT_H_
