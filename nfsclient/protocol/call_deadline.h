// call_deadline: when the client's call that this thread is in must have ended, whatever it waits
// for: replies of its own, a lookup of another thread, the lock of a directory. Without it a call
// would wait for the timeouts of all that came before it.
//
// Scopes nest; the limit of the outermost counts, as it was the first. Thread safety: a scope is
// its thread's own.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_CALL_DEADLINE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_CALL_DEADLINE_H_

#include <algorithm>
#include <chrono>

namespace nfswalk::protocol {

class CallDeadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CallDeadline(Clock::time_point limit) : outer_(current_) {
    current_ = std::min(current_, limit);
  }
  ~CallDeadline() { current_ = outer_; }
  CallDeadline(const CallDeadline&) = delete;
  CallDeadline& operator=(const CallDeadline&) = delete;

  // Begins anew, until the end of the scope: for each part of a call without a limit to its length.
  void Renew(Clock::time_point limit) { current_ = limit; }

  // time_point::max() outside of any scope, and on a hard mount.
  static Clock::time_point Current() { return current_; }

 private:
  static inline constinit thread_local Clock::time_point current_ = Clock::time_point::max();
  const Clock::time_point outer_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_CALL_DEADLINE_H_
