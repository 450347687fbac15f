// timed_mutex: a mutex whose holder may send calls, and that others wait for until their deadline.
//
// std::timed_mutex waits by pthread_mutex_clocklock(3), which ThreadSanitizer does not know (GCC
// 12).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_TIMED_MUTEX_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_TIMED_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "nfsclient/protocol/cancellation.h"

namespace nfswalk::protocol {

// For std::unique_lock.
class TimedMutex {
 public:
  // Takes it if it is free, even if `until` has passed. A Cancellation of the thread ends the wait.
  bool try_lock_until(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    if (!WaitUntil(free_, lock, until, [this] { return !held_; })) return false;
    held_ = true;
    return true;
  }
  void unlock() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    free_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool held_ = false;  // guarded by mutex_
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_TIMED_MUTEX_H_
