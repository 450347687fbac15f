#include "nfsclient/rpc/reply_header.h"

namespace nfswalk::rpc {
namespace {

// RFC 5531 9: reply_stat, accept_stat.
constexpr uint32_t kAccepted = 0;
constexpr uint32_t kDenied = 1;
constexpr uint32_t kSuccess = 0;
constexpr uint32_t kProgramUnavailable = 1;
constexpr uint32_t kProgramMismatch = 2;
constexpr uint32_t kProcedureUnavailable = 3;
constexpr uint32_t kGarbageArguments = 4;
constexpr uint32_t kSystemError = 5;

RejectReason ReasonOf(uint32_t accept_stat) {
  switch (accept_stat) {
    case kSuccess:
      return RejectReason::kNone;
    case kProgramUnavailable:
      return RejectReason::kProgramUnavailable;
    case kProgramMismatch:
      return RejectReason::kVersionMismatch;
    case kProcedureUnavailable:
      return RejectReason::kProcedureUnavailable;
    case kGarbageArguments:
      return RejectReason::kGarbageArguments;
    case kSystemError:
      return RejectReason::kSystemError;
    default:
      return RejectReason::kMalformedReply;
  }
}

}  // namespace

RejectReason ReadReplyHeader(XdrReader& reply) {
  const uint32_t reply_stat = reply.U32();
  if (!reply.good()) return RejectReason::kMalformedReply;
  if (reply_stat == kDenied) return RejectReason::kDenied;
  if (reply_stat != kAccepted) return RejectReason::kMalformedReply;
  reply.U32();  // the verifier's flavor: only AUTH_NONE and AUTH_SYS were sent
  reply.Bytes(sunrpc_auth::kAuthBodyBytesMax);
  const RejectReason reason = ReasonOf(reply.U32());
  return reply.good() ? reason : RejectReason::kMalformedReply;
}

}  // namespace nfswalk::rpc
