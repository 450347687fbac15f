// spin_wait: how a thread waits for a lock whose holder never sleeps but may be preempted.
#ifndef NFSWALK_RCU_SPIN_WAIT_H_
#define NFSWALK_RCU_SPIN_WAIT_H_

#include <sched.h>
#include <time.h>

#include <cstdint>

namespace nfswalk::rcu {

inline void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Pauses a bounded number of times, then gives up the processor on every turn: in userspace the
// holder may be waiting for the very processor its waiter burns (INODE-24). In the end it sleeps
// between turns, since a yield gives way only to threads of the same or a higher priority.
class SpinWait {
 public:
  void Once() {
    ++turns_;
    if (turns_ <= kPauses) {
      CpuRelax();
    } else if (turns_ <= kYields) {
      sched_yield();
    } else {
      timespec nap{.tv_sec = 0, .tv_nsec = kNap_ns};
      nanosleep(&nap, nullptr);
    }
  }

 private:
  static constexpr uint32_t kPauses = 64;
  static constexpr uint32_t kYields = 1024;
  static constexpr long kNap_ns = 50'000;
  uint32_t turns_ = 0;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_SPIN_WAIT_H_
