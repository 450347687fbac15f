// futex: waits for an atomic word with a deadline, which std::atomic::wait() does not have.
//
// Thread safety: all functions.
#ifndef NFSWALK_RCU_FUTEX_H_
#define NFSWALK_RCU_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace nfswalk::rcu {

// Waits until `word` is not `expected`, FutexWake() or `until`. May return early.
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t expected,
                      std::chrono::steady_clock::time_point until) {
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  using Clock = std::chrono::steady_clock;
  const auto left = std::max(until - Clock::now(), Clock::duration::zero());
  const auto whole = std::chrono::floor<seconds>(left);
  const timespec wait{static_cast<time_t>(whole.count()),
                      static_cast<long>(nanoseconds(left - whole).count())};
  const bool forever = until == Clock::time_point::max();
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, forever ? nullptr : &wait, nullptr, 0);
}

// Wakes the waiters of `word`, whose memory may be gone already.
inline void FutexWake(const std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_FUTEX_H_
