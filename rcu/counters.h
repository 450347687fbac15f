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

  // Returns what this thread's slot holds now: a number that says how busy the slot is, no sum.
  uint64_t Add(size_t i, uint64_t n = 1) {
    const uint32_t index = ThreadIndex();
    std::atomic<uint64_t>& value = slots_[index].values[i];
    if (index == kNoThreadIndex) [[unlikely]] {
      return value.fetch_add(n, std::memory_order_relaxed) + n;
    }
    const uint64_t sum = value.load(std::memory_order_relaxed) + n;
    value.store(sum, std::memory_order_relaxed);
    return sum;
  }

  uint64_t Sum(size_t i) const {
    // No thread had an index beyond this one yet, but for those without.
    const uint32_t end = ThreadIndicesEver();
    uint64_t sum = slots_[kNoThreadIndex].values[i].load(std::memory_order_relaxed);
    for (uint32_t slot = 0; slot < end; ++slot) {
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

// One number that grows and shrinks.
class ShardedCounter {
 public:
  // Returns the sum of this thread's additions, which subtractions do not lower: a caller can act
  // once in so many additions.
  uint64_t Add(uint64_t n) { return counters_.Add(kAdded, n); }
  void Subtract(uint64_t n) { counters_.Add(kSubtracted, n); }
  // Exact if no change is concurrent; otherwise it may even be negative for a moment.
  int64_t Sum() const {
    return static_cast<int64_t>(counters_.Sum(kAdded) - counters_.Sum(kSubtracted));
  }

 private:
  enum : size_t { kAdded, kSubtracted, kCounters };
  CounterSet<kCounters> counters_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_COUNTERS_H_
