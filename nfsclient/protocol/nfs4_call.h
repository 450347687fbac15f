// nfs4_call: sends a COMPOUND through an RpcCaller.
//
// Thread safety: all functions; `decode` runs on the I/O thread.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CALL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CALL_H_

#include <optional>

#include "nfsclient/protocol/nfs4_compound.h"
#include "nfsclient/protocol/rpc_caller.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

// Sends `compound`. `decode(CompoundReader&, Reply&)` reads the results and sets `reply.error`.
// kJukebox repeats the whole COMPOUND after a pause: `decode` must not return it once a
// non-idempotent operation was executed. Returns nullopt if the call was sent, is not idempotent
// and its reply is lost.
template <typename Reply, typename Decode>
std::optional<Reply> TryCompound(RpcCaller& caller, Compound& compound,
                                 const sunrpc_auth::Credential& credential,
                                 RpcCaller::Repeat repeat, RpcCaller::Budget& budget,
                                 Decode decode) {
  return caller.TryCall<COMPOUND4res, Reply>(
      credential, repeat, budget,
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return compound.Issue(rpc, callback, data);
      },
      [&](const COMPOUND4res& wire, Reply& reply) {
        CompoundReader reader(wire);
        decode(reader, reply);
      });
}

// Sends an idempotent COMPOUND, which always has a reply.
template <typename Reply, typename Decode>
Reply CallCompound(RpcCaller& caller, Compound& compound, const sunrpc_auth::Credential& credential,
                   RpcCaller::Budget& budget, Decode decode) {
  return *TryCompound<Reply>(caller, compound, credential, RpcCaller::Repeat::kIdempotent, budget,
                             decode);
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CALL_H_
