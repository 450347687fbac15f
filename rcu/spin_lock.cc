#include "rcu/spin_lock.h"

#include "rcu/spin_wait.h"

namespace nfswalk::rcu {

void SpinLock::AcquireSlow() {
  SpinWait wait;
  do {
    while (held_.load(std::memory_order_relaxed)) wait.Once();
  } while (!Take());
}

}  // namespace nfswalk::rcu
