// call_deadline: when the client's call that this thread is in must have ended, whatever it waits
// for: replies of its own, a lookup of another thread, the lock of a directory. Without it a call
// would wait for the timeouts of all that came before it.
//
// Two kinds of scopes: the client's, of one call or one part of it, and its user's, of many calls.
// Scopes of both kinds nest; of each kind the earliest limit counts, unless Renew() replaces it.
// Thread safety: a scope is its thread's own.
//
// The call of a thread whose Cancellation is canceled has no time left.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_CALL_DEADLINE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_CALL_DEADLINE_H_

#include <algorithm>
#include <chrono>
#include <system_error>

#include "nfsclient/protocol/cancellation.h"

namespace nfswalk::protocol {

// The user's: bounds the calls that this thread makes while it lives, on a hard mount too. Then
// they end in timed_out; whether a change was made is unknown. What is cached is still answered. A
// version 4 file that is destroyed later than that is closed on the server in the background.
class [[nodiscard]] Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point limit) : outer_(current_) {
    current_ = std::min(current_, limit);
  }
  ~Deadline() { current_ = outer_; }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // time_point::max(): none.
  static Clock::time_point Current() { return current_; }

 private:
  static inline constinit thread_local Clock::time_point current_ = Clock::time_point::max();
  const Clock::time_point outer_;
};

class CallDeadline {
 public:
  using Clock = Deadline::Clock;

  explicit CallDeadline(Clock::time_point limit) : outer_(current_) {
    current_ = std::min(current_, limit);
  }
  ~CallDeadline() { current_ = outer_; }
  CallDeadline(const CallDeadline&) = delete;
  CallDeadline& operator=(const CallDeadline&) = delete;

  // Begins anew, until the end of the scope: for each part of a call without a limit to its length.
  void Renew(Clock::time_point limit) { current_ = limit; }

  // The earlier limit of both kinds. time_point::max() outside of any scope, and on a hard mount
  // without a Deadline; time_point{} once the thread's calls are canceled.
  static Clock::time_point Current() {
    if (Cancellation::IsCanceled()) return Clock::time_point{};
    return std::min(current_, Deadline::Current());
  }
  // The limit of the client's kind alone: the timeouts of a soft mount.
  static Clock::time_point OfClient() { return current_; }
  static bool HasPassed() {
    const Clock::time_point limit = Current();
    return limit != Clock::time_point::max() && Clock::now() >= limit;
  }
  // The error of a call whose time is over.
  static std::errc Error() {
    return Cancellation::IsCanceled() ? std::errc::operation_canceled : std::errc::timed_out;
  }

 private:
  static inline constinit thread_local Clock::time_point current_ = Clock::time_point::max();
  const Clock::time_point outer_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_CALL_DEADLINE_H_
