#include "nfsclient/rpc/failed_call.h"

#include <cerrno>

namespace nfswalk::rpc {
namespace {

std::string TextOf(const Call& call) {
  switch (call.reject_reason()) {
    case RejectReason::kProgramUnavailable:
      return "program not available";
    case RejectReason::kVersionMismatch:
      return "program version not supported";
    case RejectReason::kProcedureUnavailable:
      return "procedure not available";
    case RejectReason::kGarbageArguments:
      return "it cannot decode the arguments";
    case RejectReason::kSystemError:
    case RejectReason::kNone:
    case RejectReason::kDenied:
    case RejectReason::kMalformedReply:
      break;
  }
  return "malformed reply";
}

}  // namespace

protocol::ConnectError ExplainFailedCall(const Call& call, Outcome outcome,
                                         const std::string& service, const std::string& host,
                                         uint16_t port) {
  const std::string what = service + " on " + host + " port " + std::to_string(port) + ": ";
  if (outcome == Outcome::kTimedOut || call.connect_errno() == ETIMEDOUT) {
    return {std::errc::timed_out, what + "no answer in time; is the server hung?"};
  }
  if (outcome == Outcome::kUnreachable) {
    const std::errc error{call.connect_errno()};
    return {error, what + std::make_error_code(error).message() + "; is the service running?"};
  }
  if (outcome == Outcome::kRejected && call.reject_reason() == RejectReason::kDenied) {
    return {std::errc::permission_denied,
            what + "the server refused our credential; it must accept AUTH_SYS"};
  }
  if (outcome == Outcome::kCanceled) return {std::errc::operation_canceled, what + "canceled"};
  if (outcome == Outcome::kNoMemory) return {std::errc::not_enough_memory, what + "out of memory"};
  if (outcome == Outcome::kLost) {
    return {std::errc::connection_reset,
            what + "it closed the connection, or sends something else than RPC; check the port"};
  }
  if (call.reject_reason() == RejectReason::kSystemError) {
    return {std::errc::io_error, what + "system error of the server"};
  }
  return {std::errc::protocol_not_supported,
          what + "does not speak it (" + TextOf(call) + "); check the port"};
}

}  // namespace nfswalk::rpc
