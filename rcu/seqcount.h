// seqcount: a 64-bit sequence count for data that readers copy without a lock.
//
// Contract    A reader that sees Changed() == false used values that all held at one instant
//             between Begin() and Changed(). Writers are serialised by the caller (a lock).
// Data        every protected field is a relaxed std::atomic; plain fields would be a data race.
// Invariants  I1 odd while a writer is inside. I2 never decreases, never wraps (64 bits), so a
//             sample may be kept across read sections. I3 an odd sample never validates.
// Protocol    locked: lock; read fields; unlock.
//             here:   s = Begin(); read fields; if (Changed(s)) the fields mean nothing.
// Ordering    O1 WriteEnd() release store -> Begin() acquire load: a reader that starts after a
//                write sees all of it.
//             O2 WriteBegin() release fence -> Changed() acquire fence: a reader that saw one field
//                of a write sees the odd count.
// Staleness   none once validated; before that a reader may hold a mixture, so it must not follow
//             it further than type-stable or RCU-protected memory.
// Progress    readers never wait here; bounding retries is the caller's duty.
// Tests       tests/unit/rcu/seqcount_test.cc, tests/race/rcu_seqcount_race_test.cc,
//             tests/litmus/counts_litmus_test.cc
#ifndef NFSWALK_RCU_SEQCOUNT_H_
#define NFSWALK_RCU_SEQCOUNT_H_

#include <atomic>
#include <cstdint>

#include "rcu/tsan.h"

namespace nfswalk::rcu {

class SeqCount {
 public:
  // Samples the count. Bit 0 is cleared, so a sample taken inside a write fails its Changed().
  uint64_t Begin() const {
    return value_.load(std::memory_order_acquire) & ~uint64_t{1};  // O1: pairs with WriteEnd()
  }

  // True if a write began or ended since `sample` was taken.
  bool Changed(uint64_t sample) const {
#ifdef NFSWALK_TSAN
    // The sanitizer does not model fences; an RMW orders the same way and is understood.
    return const_cast<std::atomic<uint64_t>&>(value_).fetch_add(0, std::memory_order_acq_rel) !=
           sample;  // O2: pairs with WriteBegin()
#else
    std::atomic_thread_fence(std::memory_order_acquire);  // O2: pairs with WriteBegin()
    return value_.load(std::memory_order_relaxed) != sample;
#endif
  }

  // Preconditions: the caller holds the lock that serialises writers.
  void WriteBegin() {
    const uint64_t odd = value_.load(std::memory_order_relaxed) + 1;
#ifdef NFSWALK_TSAN
    value_.exchange(odd, std::memory_order_acq_rel);  // O2: pairs with Changed()
#else
    value_.store(odd, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // O2: pairs with Changed()
#endif
  }
  void WriteEnd() {
    value_.store(value_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);  // O1: pairs with Begin()
  }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_SEQCOUNT_H_
