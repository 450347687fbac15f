// failed_call: a first call to a service that was not answered, in words for the user.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_FAILED_CALL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_FAILED_CALL_H_

#include <cstdint>
#include <string>

#include "nfsclient/protocol/connect_error.h"
#include "nfsclient/protocol/rpc_call.h"

namespace nfswalk::protocol {

// `service`: with its version, "NFS version 3". `host`: the name that the user gave.
// Preconditions: the call is finished and was not answered.
ConnectError ExplainFailedCall(const RpcCall& call, CallOutcome outcome, const std::string& service,
                               const std::string& host, uint16_t port);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_FAILED_CALL_H_
