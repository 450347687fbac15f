// failed_call: the message for a call that failed while mounting.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_FAILED_CALL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_FAILED_CALL_H_

#include <cstdint>
#include <string>

#include "nfsclient/protocol/connect_error.h"
#include "nfsclient/protocol/rpc_call.h"

namespace nfswalk::protocol {

// Returns the error and message of a finished call. `service` includes the version ("NFS version
// 3"), `host` is the name that the user gave. Preconditions: `outcome` is not kReplied.
ConnectError ExplainFailedCall(const RpcCall& call, CallOutcome outcome, const std::string& service,
                               const std::string& host, uint16_t port);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_FAILED_CALL_H_
