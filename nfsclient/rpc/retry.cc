#include "nfsclient/rpc/retry.h"

#include <algorithm>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::rpc {
namespace {

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
  return BudgetUntil(std::min(NewDeadline(), protocol::CallDeadline::Current()));
}

milliseconds Retry::AttemptTimeout(uint32_t timeouts) const {
  return std::min(timeo_ * (int64_t{timeouts} + 1), kAttemptTimeoutMax);
}

bool Retry::OutOfTime(const Budget& budget) {
  return Clock::now() >= budget.give_up || protocol::Cancellation::IsCanceled();
}

void Retry::NoteResponds(bool responds) {
  if (responds_.load() == responds) [[likely]]
    return;
  if (responds_.exchange(responds) == responds || !on_server_responds_) return;
  on_server_responds_(responds);
}

SendResult Retry::Send(Connection& connection, Call& call, Budget& budget) {
  if (OutOfTime(budget)) return {protocol::CallDeadline::Error()};
  connection.Submit(call);
  return Await(connection, call, budget);
}

SendResult Retry::Await(Connection& connection, Call& call, Budget& budget) {
  bool may_resend_on_connection = resends_on_connection_;
  for (bool was_sent = false;; connection.Submit(call)) {
    const Clock::time_point now = Clock::now();
    call.deadline = std::min(budget.give_up, now + AttemptTimeout(budget.timeouts));
    const Outcome outcome = connection.Wait(call);
    const bool repeated = std::exchange(was_sent, was_sent || call.was_sent());
    if (outcome == Outcome::kTimedOut && protocol::Cancellation::IsCanceled()) {
      return {std::errc::operation_canceled};
    }
    bool resends = false;
    switch (outcome) {
      case Outcome::kReplied:
        NoteResponds(true);
        return {{}, repeated};
      case Outcome::kRejected:
        return {ErrnoOf(call.reject_reason())};
      case Outcome::kUnreachable:
        return {std::errc::host_unreachable};
      case Outcome::kPending:
      case Outcome::kCanceled:
        return {std::errc::operation_canceled};
      case Outcome::kNoMemory:
        return {std::errc::not_enough_memory};
      case Outcome::kTimedOut:
        if (++budget.timeouts > retrans_) NoteResponds(false);
        resends = was_sent && connection.HasReceivedSince(call, now) &&
                  std::exchange(may_resend_on_connection, false);
        // A call that had less time than that does not tell that the connection is dead.
        if (!resends && was_sent && Clock::now() - now >= timeo_) connection.Abort(call);
        break;
      case Outcome::kLost:
        break;
    }
    if (!resends) may_resend_on_connection = resends_on_connection_;
    retries_.fetch_add(1);
    if (OutOfTime(budget)) return {protocol::CallDeadline::Error()};
  }
}

std::errc Retry::PauseForJukebox(Budget& budget) {
  budget.pause = std::clamp(budget.pause * 2, kJukeboxPauseMin, kJukeboxPauseMax);
  const Clock::time_point now = Clock::now();
  if (OutOfTime(budget) || budget.give_up - now <= budget.pause) {
    return protocol::CallDeadline::Error();
  }
  retries_.fetch_add(1);
  std::unique_lock lock(mutex_);
  const bool stop =
      protocol::WaitUntil(shut_down_, lock, now + budget.pause, [this] { return is_shut_down_; });
  return stop || protocol::Cancellation::IsCanceled() ? std::errc::operation_canceled : std::errc{};
}

void Retry::Shutdown() {
  {
    std::lock_guard lock(mutex_);
    is_shut_down_ = true;
  }
  shut_down_.notify_all();
}

}  // namespace nfswalk::rpc
