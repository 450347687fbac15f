// retry: retries and timeouts of nfs(5): hard, soft, timeo, retrans.
//
// A call without a reply is sent again after timeo; the n-th time waits (n + 1) * timeo, at most
// 600 s (linear back-off, as nfs(5) has it for TCP). On a soft mount an operation fails with
// timed_out after the sum of these times for `retrans` retransmissions, independent of what it
// waited for; on a hard mount never. A call whose connection ended is sent again at once and not
// counted: the connection backs off. It has the same xid, but where another connection
// goes on with it (Outcome::kNoSlot). Version 3 sends it a second time
// over the same connection if that brought other replies meanwhile; version 4 must not (RFC 7530
// 3.1.1), and waits as long once more if that connection brings any. Else the connection is
// replaced, from the same port: by port and xid a server's duplicate request cache knows the call.
//
// A call may outlive the waits for it, which the deadlines of several threads end (Resume()). Its
// timeo counts while a thread waits: else the reply may lie in the socket. Where the time of a soft
// mount is over, the connection that carried the call ends with it.
//
// Thread safety: all functions; a Budget and Attempts are used by one thread at a time.
#ifndef NFSWALK_NFSCLIENT_RPC_RETRY_H_
#define NFSWALK_NFSCLIENT_RPC_RETRY_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>

#include "nfsclient/protocol/transport_options.h"
#include "nfsclient/rpc/call.h"
#include "nfsclient/rpc/connection.h"

namespace nfswalk::rpc {

struct SendResult {
  std::errc error{};      // errc{}: see Call::results()
  bool repeated = false;  // of a reply: the call was sent, and perhaps executed, more than once
  bool withheld = false;  // without a reply: Call::may_repeat has ended it
  // Without a reply: to be resumed over another connection (Outcome::kNoSlot).
  bool has_no_slot = false;
};

class Retry {
 public:
  using Clock = Call::Clock;

  static constexpr auto kNoLimit = std::chrono::milliseconds::max();

  // The time left to one operation, over all its calls.
  class Budget {
   public:
    // When the operation must have ended, whatever it waits for.
    Clock::time_point deadline() const { return give_up; }
    // The last pause; the next is twice as long.
    std::chrono::milliseconds last_pause() const { return pause; }
    // Returns a copy that does not reach beyond the thread's CallDeadline.
    Budget OfThisWait() const;
    // Returns a copy that ends at `deadline` at the latest.
    Budget Until(Clock::time_point deadline) const {
      Budget budget = *this;
      budget.give_up = std::min(give_up, deadline);
      return budget;
    }
    // Limits what the n-th attempt waits for a reply to n times that, below timeo.
    void LimitAttempts(std::chrono::milliseconds timeout_max) { attempt_max = timeout_max; }
    // Calls do not wait for a session (Call::ends_with_session): for the thread that gets it.
    void EndWithSession() { ends_with_session_ = true; }
    bool ends_with_session() const { return ends_with_session_; }

   private:
    friend class Retry;
    Clock::time_point give_up = Clock::time_point::max();
    uint32_t timeouts = 0;
    std::chrono::milliseconds attempt_max = kNoLimit;
    std::chrono::milliseconds pause{0};
    Clock::time_point pause_ends{};  // of ResumePause(), {}: none begun
    bool ends_with_session_ = false;
  };

  // How far a call is; by default behind Connection::Submit().
  class Attempts {
   public:
    static Attempts NotSubmitted() {
      Attempts attempts;
      attempts.is_submitted = false;
      return attempts;
    }

   private:
    friend class Retry;
    bool is_submitted = true;
    bool was_sent = false;  // before the present attempt
    bool has_waited_on = false;
    std::optional<bool> may_resend_on_connection;
    // Begin and timeout of the present attempt; {}: not waited for yet.
    Clock::time_point began{};
    Clock::duration timeout{};
    Clock::duration waited{};
  };

  // `version`: of NFS.
  Retry(const protocol::TransportOptions& options, uint32_t version);

  // The sum of the timeouts from now; never on a hard mount.
  Clock::time_point NewDeadline() const;
  // Not beyond the thread's CallDeadline.
  Budget NewBudget() const;
  // For Resume(): beyond the user's Deadline.
  Budget NewBudgetOfCall() const;
  // Returns a budget until `deadline`, hard or soft. For mounting.
  static Budget BudgetUntil(Clock::time_point deadline) {
    Budget budget;
    budget.give_up = deadline;
    return budget;
  }

  // Returns whether a call would end before it is sent.
  static bool OutOfTime(const Budget& budget);
  // Executes `call` with deadlines from `budget` until it ends. Blocks. `attempts`: of a call that
  // is not submitted.
  // Errors: timed_out (soft); operation_canceled (also by the thread's Cancellation);
  // host_unreachable (fail_if_unreachable only); permission_denied, protocol_not_supported,
  // operation_not_supported, io_error (rejected: RFC 5531 9); not_enough_memory.
  [[nodiscard]] SendResult Send(Connection& connection, Call& call, Budget& budget,
                                Attempts& attempts) {
    return *Resume(connection, call, budget, attempts);
  }
  // The second half of Send(), behind Connection::Submit(): the time that the call has begins here,
  // as replies to calls submitted before it come first. A call that outlives its waits is waited
  // for as long as the thread's CallDeadline and Cancellation allow. nullopt, of such a call only:
  // these ended the wait; the server may execute it until Resume() has returned a result, on
  // whichever thread. An error is final then: the call was answered or never sent, or the
  // connection that it was sent on has ended.
  [[nodiscard]] std::optional<SendResult> Resume(Connection& connection, Call& call,
                                                 Budget& budget, Attempts& attempts);
  // Ends a call that Resume() has not, by its reply, or by withdrawing it when the thread's
  // CallDeadline or Cancellation ends the wait.
  void End(Connection& connection, Call& call, const Budget& budget, Attempts& attempts);

  // Pauses before a call is repeated after NFS3ERR_JUKEBOX: 100 ms, doubled up to 5 s.
  // Errors: timed_out, operation_canceled.
  [[nodiscard]] std::errc PauseForJukebox(Budget& budget);
  // Pauses with a NewBudgetOfCall(). nullopt: the thread's CallDeadline or Cancellation came first;
  // the next call goes on with the pause.
  [[nodiscard]] std::optional<std::errc> ResumePause(Budget& budget);

  // Ends all pauses with operation_canceled. Does not shut down the connections.
  void Shutdown();

  // Calls repeated after a lost connection, a timeout or NFS3ERR_JUKEBOX.
  uint64_t retries() const { return retries_.load(); }

 private:
  static bool IsExhausted(const Budget& budget) { return Clock::now() >= budget.give_up; }
  std::optional<SendResult> ResumeAttempts(Connection& connection, Call& call, Budget& budget,
                                           Attempts& attempts);
  Outcome AwaitAttempt(Connection& connection, Call& call, const Budget& budget,
                       Attempts& attempts) const;
  Outcome AwaitReply(Connection& connection, Call& call, const Budget& budget, bool outlives_wait,
                     Attempts& attempts) const;
  bool WaitsOn(Connection& connection, const Call& call, const Budget& budget,
               Attempts& attempts) const;
  void EndIfDead(Connection& connection, const Call& call, const Budget& budget,
                 const Attempts& attempts) const;
  bool ResendsOnConnection(Connection& connection, const Call& call, Attempts& attempts) const;
  static bool MayRepeat(Connection& connection, const Call& call, const Attempts& attempts);
  void NoteResponds(bool responds);
  std::chrono::milliseconds AttemptTimeout(uint32_t timeouts) const;
  static std::chrono::milliseconds LimitOf(const Budget& budget) {
    const auto limit = budget.attempt_max;
    return limit == kNoLimit ? limit : limit * (int64_t{budget.timeouts} + 1);
  }

  const bool hard_;
  const bool resends_on_connection_;
  const std::chrono::milliseconds timeo_;
  const uint32_t retrans_;
  const std::function<void(bool responds)> on_server_responds_;

  std::atomic<uint64_t> retries_{0};
  std::atomic<bool> responds_{true};
  std::mutex mutex_;
  std::condition_variable shut_down_;
  bool is_shut_down_ = false;  // guarded by mutex_
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_RETRY_H_
