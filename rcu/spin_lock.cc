#include "rcu/spin_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rcu/spin_wait.h"

namespace nfswalk::rcu {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the futex word is the atomic");

void SpinLock::AcquireSlow() {
  for (SpinWait wait; !wait.exhausted(); wait.Once()) {
    uint32_t expected = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_weak(expected, kHeld,
                                     std::memory_order_acquire,  // O1: pairs with unlock()
                                     std::memory_order_relaxed)) {
      return;
    }
  }
  // Whoever gets the lock here leaves it marked contended: other sleepers may remain (I1).
  while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {  // O1: unlock()
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kContended, nullptr, nullptr, 0);
  }
}

void SpinLock::WakeOne() {
  syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace nfswalk::rcu
