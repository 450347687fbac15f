#include "nfsclient/protocol/rpc_retry.h"

#include <algorithm>

#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::protocol {
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

SendResult Failed(std::errc error) { return {SendResult::Kind::kFailed, error}; }

}  // namespace

RpcRetry::RpcRetry(const TransportOptions& options)
    : hard_(options.hard),
      timeo_(std::clamp(milliseconds{100} * int64_t{options.timeo_ds}, milliseconds{100},
                        kAttemptTimeoutMax)),
      retrans_(std::min(options.retrans, kRetransMax)) {}

RpcRetry::Clock::time_point RpcRetry::NewDeadline() const {
  if (hard_) return Clock::time_point::max();
  milliseconds total{0};
  for (uint32_t n = 0; n <= retrans_; ++n) total += AttemptTimeout(n);
  return Clock::now() + total;
}

RpcRetry::Budget RpcRetry::NewBudget() const {
  return BudgetUntil(std::min(NewDeadline(), CallDeadline::Current()));
}

milliseconds RpcRetry::AttemptTimeout(uint32_t timeouts) const {
  return std::min(timeo_ * (int64_t{timeouts} + 1), kAttemptTimeoutMax);
}

SendResult RpcRetry::Send(RpcChannel& channel, RpcCall& call, bool idempotent, Budget& budget) {
  for (;;) {
    const Clock::time_point now = Clock::now();
    if (now >= budget.give_up) return Failed(std::errc::timed_out);
    call.deadline = std::min(budget.give_up, now + AttemptTimeout(budget.timeouts));
    switch (channel.Execute(call)) {
      case CallOutcome::kReplied:
        return {SendResult::Kind::kReplied, {}};
      case CallOutcome::kRejected:
        return Failed(ErrnoOf(call.reject_reason()));
      case CallOutcome::kNotEncodable:
        return Failed(std::errc::argument_list_too_long);
      case CallOutcome::kUnreachable:
        return Failed(std::errc::host_unreachable);
      case CallOutcome::kPending:
      case CallOutcome::kCanceled:
        return Failed(std::errc::operation_canceled);
      case CallOutcome::kTimedOut:
        ++budget.timeouts;
        break;
      case CallOutcome::kLost:
        break;
    }
    if (call.was_sent() && !idempotent) return {SendResult::Kind::kOutcomeUnknown, {}};
    retries_.fetch_add(1);
  }
}

std::errc RpcRetry::PauseForJukebox(Budget& budget) {
  budget.pause = std::clamp(budget.pause * 2, kJukeboxPauseMin, kJukeboxPauseMax);
  const Clock::time_point now = Clock::now();
  if (budget.give_up - now <= budget.pause) return std::errc::timed_out;
  retries_.fetch_add(1);
  std::unique_lock lock(mutex_);
  const bool stop =
      shut_down_.wait_until(lock, now + budget.pause, [this] { return is_shut_down_; });
  return stop ? std::errc::operation_canceled : std::errc{};
}

void RpcRetry::Shutdown() {
  {
    std::lock_guard lock(mutex_);
    is_shut_down_ = true;
  }
  shut_down_.notify_all();
}

}  // namespace nfswalk::protocol
