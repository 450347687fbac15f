// interrupt_guard: what an interrupt (SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXCPU) has to remove
// before it ends the process: files that do not have their names yet.
//
// Thread safety: Unfinished and UnfinishedName(): any thread.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_INTERRUPT_GUARD_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_INTERRUPT_GUARD_H_

#include <functional>
#include <shared_mutex>
#include <string>
#include <thread>

namespace nfswalk::cli {

// A name for what is not finished: ".nfswalk-" and six letters. "" without the kernel's random
// numbers.
std::string UnfinishedName();

// While it lives, and until Forget(), an interrupt calls `remove`, on another thread.
class Unfinished {
 public:
  using Change = std::shared_lock<std::shared_timed_mutex>;

  explicit Unfinished(std::function<void()> remove);
  ~Unfinished() { Forget(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  void Forget();

  // Held while names come and go, and what `remove` reads of them: an interrupt waits for those
  // in flight, some seconds at most, and lets nothing new begin.
  [[nodiscard]] static Change BeginChange();

 private:
  const std::function<void()> remove_;
};

// Interrupts end the process as ever, but not before the unfinished files are gone and `last` was
// called. Those that are ignored stay so, and all without a thread for them. Construct and destroy
// on one thread; one at a time.
class InterruptGuard {
 public:
  explicit InterruptGuard(const std::function<void()>& last);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_INTERRUPT_GUARD_H_
