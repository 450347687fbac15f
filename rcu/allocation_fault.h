// allocation_fault: lets a test decide when memory runs out.
#ifndef NFSWALK_RCU_ALLOCATION_FAULT_H_
#define NFSWALK_RCU_ALLOCATION_FAULT_H_

#include <atomic>
#include <cstdint>
#include <limits>

namespace nfswalk::rcu {

// One counter for the process and kind. Has no effect with NDEBUG. Thread safety: all functions; to
// start while others allocate makes the count inexact.
template <class Kind>
class FaultOf {
 public:
  // The next `n` allocations succeed, all later ones fail until Clear().
  static void FailAfter(int64_t n) { Start(n, false); }
  // The next `n` allocations succeed, the one after them fails.
  static void FailOnceAfter(int64_t n) { Start(n, true); }
  static void Clear() { remaining_.store(kOff, std::memory_order_relaxed); }
  // Allocations that failed since the last of these.
  static int64_t failures() { return failures_.load(std::memory_order_relaxed); }

  // Called by allocators, once per allocation.
  static bool ShouldFail() {
#ifdef NDEBUG
    return false;
#else
    if (remaining_.load(std::memory_order_relaxed) == kOff) [[likely]]
      return false;
    const int64_t left = remaining_.fetch_sub(1, std::memory_order_relaxed);
    if (left > 0 || (left < 0 && once_.load(std::memory_order_relaxed))) return false;
    failures_.fetch_add(1, std::memory_order_relaxed);
    return true;
#endif
  }

 private:
  static void Start(int64_t n, bool once) {
    once_.store(once, std::memory_order_relaxed);
    failures_.store(0, std::memory_order_relaxed);
    remaining_.store(n, std::memory_order_relaxed);
  }

  static constexpr int64_t kOff = std::numeric_limits<int64_t>::max();
  static inline constinit std::atomic<int64_t> remaining_{kOff};
  static inline constinit std::atomic<bool> once_{false};
  static inline constinit std::atomic<int64_t> failures_{0};
};

// An object of a pool.
using AllocationFault = FaultOf<struct PoolObjects>;
// An area of a PageRegion: a slab of a pool, the heads of a hash table.
using MappingFault = FaultOf<struct PageAreas>;

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_ALLOCATION_FAULT_H_
