// failed_call: the message for a call that failed while mounting.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_RPC_FAILED_CALL_H_
#define NFSWALK_NFSCLIENT_RPC_FAILED_CALL_H_

#include <cstdint>
#include <string>

#include "nfsclient/protocol/transport_options.h"
#include "nfsclient/rpc/call.h"

namespace nfswalk::rpc {

// Returns the error and message of a finished call. `service` includes the version ("NFS version
// 3"), `host` is the name that the user gave. Preconditions: `outcome` is not kReplied.
protocol::ConnectError ExplainFailedCall(const Call& call, Outcome outcome,
                                         const std::string& service, const std::string& host,
                                         uint16_t port);

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_FAILED_CALL_H_
