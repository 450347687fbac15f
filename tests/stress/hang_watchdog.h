// hang_watchdog: aborts a test that hangs, with a message, before the runner's timeout.
#ifndef NFSWALK_TESTS_STRESS_HANG_WATCHDOG_H_
#define NFSWALK_TESTS_STRESS_HANG_WATCHDOG_H_

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace nfswalk {

// Aborts the process if it lives for longer than a minute: on a machine that is busy with other
// work the guarded code may take seconds.
class HangWatchdog {
 public:
  explicit HangWatchdog(std::string what)
      : what_(std::move(what)), thread_(&HangWatchdog::Watch, this) {}
  ~HangWatchdog() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  HangWatchdog(const HangWatchdog&) = delete;
  HangWatchdog& operator=(const HangWatchdog&) = delete;

 private:
  static constexpr std::chrono::minutes kTimeout{1};

  void Watch() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kTimeout, [this] { return over_; })) return;
    std::fprintf(stderr, "%s: hangs\n", what_.c_str());
    std::abort();
  }

  const std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: uses the members above
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_STRESS_HANG_WATCHDOG_H_
