#include "nfsclient/rpc/retry.h"

#include <algorithm>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::rpc {
namespace {

using protocol::CallDeadline;
using protocol::Cancellation;
using std::chrono::milliseconds;

constexpr milliseconds kAttemptTimeoutMax{600'000};
constexpr uint32_t kRetransMax = 1000;  // about a week with kAttemptTimeoutMax
constexpr milliseconds kJukeboxPauseMin{100};
constexpr milliseconds kJukeboxPauseMax{5'000};

std::errc ErrnoOf(RejectReason reason) {
  switch (reason) {
    case RejectReason::kDenied:
      return std::errc::permission_denied;
    case RejectReason::kProgramUnavailable:
    case RejectReason::kVersionMismatch:
      return std::errc::protocol_not_supported;
    case RejectReason::kProcedureUnavailable:
      return std::errc::operation_not_supported;
    case RejectReason::kNone:
    case RejectReason::kGarbageArguments:
    case RejectReason::kSystemError:
    case RejectReason::kMalformedReply:
      return std::errc::io_error;
  }
  return std::errc::io_error;
}

}  // namespace

Retry::Retry(const protocol::TransportOptions& options, uint32_t version)
    : hard_(options.hard),
      resends_on_connection_(version < 4),
      timeo_(std::clamp(milliseconds{100} * int64_t{options.timeo_ds}, milliseconds{100},
                        kAttemptTimeoutMax)),
      retrans_(std::min(options.retrans, kRetransMax)),
      on_server_responds_(options.on_server_responds) {}

Retry::Clock::time_point Retry::NewDeadline() const {
  if (hard_) return Clock::time_point::max();
  milliseconds total{0};
  for (uint32_t n = 0; n <= retrans_; ++n) total += AttemptTimeout(n);
  return Clock::now() + total;
}

Retry::Budget Retry::NewBudget() const {
  return BudgetUntil(std::min(NewDeadline(), CallDeadline::Current()));
}

Retry::Budget Retry::NewBudgetOfCall() const {
  return BudgetUntil(hard_ ? Clock::time_point::max()
                           : std::min(NewDeadline(), CallDeadline::OfClient()));
}

Retry::Budget Retry::Budget::OfThisWait() const {
  Budget budget = *this;
  budget.give_up = std::min(give_up, CallDeadline::Current());
  return budget;
}

milliseconds Retry::AttemptTimeout(uint32_t timeouts) const {
  return std::min(timeo_ * (int64_t{timeouts} + 1), kAttemptTimeoutMax);
}

bool Retry::OutOfTime(const Budget& budget) {
  return Clock::now() >= budget.give_up || Cancellation::IsCanceled();
}

void Retry::NoteResponds(bool responds) {
  if (responds_.load() == responds) [[likely]]
    return;
  if (responds_.exchange(responds) == responds || !on_server_responds_) return;
  on_server_responds_(responds);
}

std::optional<SendResult> Retry::Resume(Connection& connection, Call& call, Budget& budget,
                                        Attempts& attempts) {
  const std::optional<SendResult> result = ResumeAttempts(connection, call, budget, attempts);
  if (result && !result->has_no_slot) connection.Leave(call);
  return result;
}

std::optional<SendResult> Retry::ResumeAttempts(Connection& connection, Call& call, Budget& budget,
                                                Attempts& attempts) {
  for (;;) {
    if (!attempts.is_submitted) {
      if (!call.outlives_wait) {
        if (OutOfTime(budget)) return SendResult{CallDeadline::Error()};
      } else if (IsExhausted(budget)) {
        if (attempts.was_sent) connection.Abort(call);
        return SendResult{std::errc::timed_out};
      } else if (CallDeadline::HasPassed()) {
        return std::nullopt;
      }
      connection.Submit(call);
      attempts.is_submitted = true;
      attempts.began = {};
    }
    const Outcome outcome = AwaitAttempt(connection, call, budget, attempts);
    if (outcome == Outcome::kPending) return std::nullopt;
    attempts.is_submitted = false;
    const bool repeated = std::exchange(attempts.was_sent, attempts.was_sent || call.was_sent());
    switch (outcome) {
      case Outcome::kReplied:
        NoteResponds(true);
        if (call.is_executing()) {
          const auto paused =
              call.outlives_wait ? ResumePause(budget) : std::optional(PauseForJukebox(budget));
          if (!paused) return std::nullopt;
          if (*paused != std::errc{}) return SendResult{*paused};
          continue;
        }
        return SendResult{{}, repeated && !call.was_executed_once()};
      case Outcome::kRejected:
        return SendResult{ErrnoOf(call.reject_reason())};
      case Outcome::kNoSlot:
        return SendResult{.has_no_slot = true};
      case Outcome::kUnreachable:
        return SendResult{std::errc::host_unreachable};
      case Outcome::kPending:
      case Outcome::kCanceled:
        return SendResult{std::errc::operation_canceled};
      case Outcome::kNoMemory:
        return SendResult{std::errc::not_enough_memory};
      case Outcome::kTimedOut:
        // Not sent, and ended with the wait.
        if (call.outlives_wait && attempts.waited < attempts.timeout) continue;
        if (!call.outlives_wait && Cancellation::IsCanceled()) {
          return SendResult{std::errc::operation_canceled};
        }
        if (++budget.timeouts > retrans_) NoteResponds(false);
        if (ResendsOnConnection(connection, call, attempts)) break;
        EndIfDead(connection, call, budget, attempts);
        attempts.may_resend_on_connection.reset();
        break;
      case Outcome::kLost:
        attempts.may_resend_on_connection.reset();
        break;
    }
    const bool on_another_connection = !attempts.may_resend_on_connection;
    if (on_another_connection && !MayRepeat(connection, call, attempts)) {
      return SendResult{.withheld = true};
    }
    retries_.fetch_add(1);
  }
}

void Retry::End(Connection& connection, Call& call, const Budget& budget, Attempts& attempts) {
  if (!attempts.is_submitted) return;
  call.outlives_wait = false;
  Budget left = budget.OfThisWait();
  (void)Resume(connection, call, left, attempts);
}

// kPending: the thread's time is over. What the call has left of its own is for the next wait.
Outcome Retry::AwaitAttempt(Connection& connection, Call& call, const Budget& budget,
                            Attempts& attempts) const {
  const bool outlives_wait = call.outlives_wait;
  if (!resends_on_connection_) call.outlives_wait = true;  // until it is withdrawn below
  Outcome outcome;
  do {
    outcome = AwaitReply(connection, call, budget, outlives_wait, attempts);
  } while (outcome == Outcome::kPending && WaitsOn(connection, call, budget, attempts));
  call.outlives_wait = outlives_wait;
  if (outcome != Outcome::kPending) return outcome;
  const bool has_time_left = attempts.waited < attempts.timeout;
  const bool is_left_to_next_wait = CallDeadline::HasPassed() && !IsExhausted(budget);
  if (outlives_wait && (has_time_left || is_left_to_next_wait)) return outcome;
  return connection.Withdraw(call);
}

Outcome Retry::AwaitReply(Connection& connection, Call& call, const Budget& budget,
                          bool outlives_wait, Attempts& attempts) const {
  const Clock::time_point now = Clock::now();
  if (attempts.began == Clock::time_point{}) {
    attempts.began = now;
    attempts.timeout = std::min<Clock::duration>(
        std::min(AttemptTimeout(budget.timeouts), LimitOf(budget)), budget.give_up - now);
    attempts.waited = {};
  }
  call.deadline = std::min(now + (attempts.timeout - attempts.waited),
                           outlives_wait ? CallDeadline::Current() : budget.give_up);
  const Outcome outcome = connection.Wait(call);
  attempts.waited += Clock::now() - now;
  return outcome;
}

// Begins another attempt of a call that is in flight, once, without sending it again: version 4
// does not give up a connection that brings the replies to other calls.
bool Retry::WaitsOn(Connection& connection, const Call& call, const Budget& budget,
                    Attempts& attempts) const {
  if (resends_on_connection_ || attempts.waited < attempts.timeout) return false;
  // nfs-ganesha leaves a call unanswered now and then, and goes on with the others (4.3); knfsd a
  // repetition, while it executes the first (nfsd_cache_lookup()).
  if (attempts.has_waited_on) return false;
  if (OutOfTime(budget) || CallDeadline::HasPassed()) return false;
  if (!connection.HasReceivedSince(call, attempts.began)) return false;
  attempts.began = {};
  attempts.has_waited_on = true;
  return true;
}

// Ends a connection that is dead, for all that a call tells that had enough time.
void Retry::EndIfDead(Connection& connection, const Call& call, const Budget& budget,
                      const Attempts& attempts) const {
  if (attempts.waited < std::min(timeo_, budget.attempt_max)) return;
  if (!resends_on_connection_ && !attempts.has_waited_on) {
    connection.AbortIfSilent(call, attempts.began);
  } else if (attempts.was_sent) {
    connection.Abort(call);
  }
}

bool Retry::MayRepeat(Connection& connection, const Call& call, const Attempts& attempts) {
  if (!attempts.was_sent || call.may_repeat == nullptr || connection.Remembers(call)) return true;
  return (*call.may_repeat)();
}

// Returns whether a call without a reply is sent again over the connection that it was sent on.
bool Retry::ResendsOnConnection(Connection& connection, const Call& call,
                                Attempts& attempts) const {
  if (!attempts.was_sent || !attempts.may_resend_on_connection.value_or(resends_on_connection_)) {
    return false;
  }
  if (!connection.HasReceivedSince(call, attempts.began)) return false;
  attempts.may_resend_on_connection = false;
  return true;
}

std::errc Retry::PauseForJukebox(Budget& budget) {
  budget.pause = std::clamp(budget.pause * 2, kJukeboxPauseMin, kJukeboxPauseMax);
  const Clock::time_point now = Clock::now();
  if (OutOfTime(budget) || budget.give_up - now <= budget.pause) {
    return CallDeadline::Error();
  }
  retries_.fetch_add(1);
  std::unique_lock lock(mutex_);
  const bool stop =
      protocol::WaitUntil(shut_down_, lock, now + budget.pause, [this] { return is_shut_down_; });
  return stop || Cancellation::IsCanceled() ? std::errc::operation_canceled : std::errc{};
}

std::optional<std::errc> Retry::ResumePause(Budget& budget) {
  if (budget.pause_ends == Clock::time_point{}) {
    budget.pause = std::clamp(budget.pause * 2, kJukeboxPauseMin, kJukeboxPauseMax);
    budget.pause_ends = Clock::now() + budget.pause;
    if (budget.give_up <= budget.pause_ends) return std::errc::timed_out;
    retries_.fetch_add(1);
  }
  const Clock::time_point until = std::min(budget.pause_ends, CallDeadline::Current());
  std::unique_lock lock(mutex_);
  const bool stop =
      protocol::WaitUntil(shut_down_, lock, until, [this] { return is_shut_down_; });
  if (stop) return std::errc::operation_canceled;
  if (Clock::now() < budget.pause_ends) return std::nullopt;
  budget.pause_ends = {};
  return std::errc{};
}

void Retry::Shutdown() {
  {
    std::lock_guard lock(mutex_);
    is_shut_down_ = true;
  }
  shut_down_.notify_all();
}

}  // namespace nfswalk::rpc
