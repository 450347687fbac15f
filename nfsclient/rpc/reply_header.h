// reply_header: the header of a reply message (RFC 5531 9).
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_RPC_REPLY_HEADER_H_
#define NFSWALK_NFSCLIENT_RPC_REPLY_HEADER_H_

#include "nfsclient/rpc/call.h"
#include "nfsclient/rpc/xdr_reader.h"

namespace nfswalk::rpc {

// xid, message type, reply_stat, verifier and accept_stat at their longest.
inline constexpr size_t kReplyHeaderBytesMax = 3 * 4 + 8 + sunrpc_auth::kAuthBodyBytesMax + 4;

// Reads what follows xid and message type, up to the results. kNone: they follow.
RejectReason ReadReplyHeader(XdrReader& reply);

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_REPLY_HEADER_H_
