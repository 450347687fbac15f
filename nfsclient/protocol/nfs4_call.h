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

// `decode(CompoundReader&, Reply&)` takes what it wants of the results and sets `reply.error`;
// kJukebox there sends the whole COMPOUND again after a while, so it must not be answered once an
// operation that may not be repeated was executed. nullopt: sent, not answered, may not be
// repeated.
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

// The same for a COMPOUND that may be repeated: there is always a reply.
template <typename Reply, typename Decode>
Reply CallCompound(RpcCaller& caller, Compound& compound, const sunrpc_auth::Credential& credential,
                   RpcCaller::Budget& budget, Decode decode) {
  return *TryCompound<Reply>(caller, compound, credential, RpcCaller::Repeat::kIdempotent, budget,
                             decode);
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CALL_H_
