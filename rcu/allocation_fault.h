// allocation_fault: lets a test decide when the pools run out of memory.
#ifndef NFSWALK_RCU_ALLOCATION_FAULT_H_
#define NFSWALK_RCU_ALLOCATION_FAULT_H_

#include <atomic>
#include <cstdint>
#include <limits>

namespace nfswalk::rcu {

// One counter for the process. Has no effect with NDEBUG. Thread safety: all functions.
class AllocationFault {
 public:
  // The next `n` allocations succeed, all later ones fail until Clear().
  static void FailAfter(int64_t n) { remaining_.store(n, std::memory_order_relaxed); }
  static void Clear() { remaining_.store(kOff, std::memory_order_relaxed); }

  // For pools, once per allocation.
  static bool ShouldFail() {
#ifdef NDEBUG
    return false;
#else
    if (remaining_.load(std::memory_order_relaxed) == kOff) [[likely]]
      return false;
    return remaining_.fetch_sub(1, std::memory_order_relaxed) <= 0;
#endif
  }

 private:
  static constexpr int64_t kOff = std::numeric_limits<int64_t>::max();
  static inline constinit std::atomic<int64_t> remaining_{kOff};
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_ALLOCATION_FAULT_H_
