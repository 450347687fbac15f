// spin_wait: how a thread waits for a lock whose holder never sleeps but may be preempted.
#ifndef NFSWALK_RCU_SPIN_WAIT_H_
#define NFSWALK_RCU_SPIN_WAIT_H_

#include <sched.h>

namespace nfswalk::rcu {

inline void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Pauses a bounded number of times, then gives up the processor on every turn: in userspace the
// holder may be waiting for the very processor its waiter burns (icache 0).
class SpinWait {
 public:
  void Once() {
    if (turns_ < kPauses) {
      ++turns_;
      CpuRelax();
    } else {
      sched_yield();
    }
  }
  // True once the pauses are used up.
  bool exhausted() const { return turns_ >= kPauses; }

 private:
  static constexpr int kPauses = 64;
  int turns_ = 0;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_SPIN_WAIT_H_
