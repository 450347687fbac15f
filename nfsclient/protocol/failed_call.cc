#include "nfsclient/protocol/failed_call.h"

#include <cerrno>

namespace nfswalk::protocol {

ConnectError ExplainFailedCall(const RpcCall& call, CallOutcome outcome, const std::string& service,
                               const std::string& host, uint16_t port) {
  const std::string what = service + " on " + host + " port " + std::to_string(port) + ": ";
  if (outcome == CallOutcome::kTimedOut || call.connect_errno() == ETIMEDOUT) {
    return {std::errc::timed_out, what + "no answer in time; is the server hung?"};
  }
  if (outcome == CallOutcome::kUnreachable && call.connect_errno() != 0) {
    const std::errc error{call.connect_errno()};
    return {error, what + std::make_error_code(error).message() + "; is the service running?"};
  }
  if (outcome == CallOutcome::kRejected && call.reject_reason() == RejectReason::kDenied) {
    return {std::errc::permission_denied,
            what + "the server refused our credential; it must accept AUTH_SYS"};
  }
  if (outcome == CallOutcome::kCanceled) return {std::errc::operation_canceled, what + "canceled"};
  return {std::errc::protocol_not_supported,
          what + "does not speak it (" +
              (call.failure_text().empty() ? "it closed the connection" : call.failure_text()) +
              "); check the port"};
}

}  // namespace nfswalk::protocol
