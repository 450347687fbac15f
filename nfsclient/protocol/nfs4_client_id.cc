#include "nfsclient/protocol/nfs4_client_id.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <unistd.h>

#include <random>

#include "nfsclient/protocol/nfs4_call.h"
#include "nfsclient/protocol/nfs4_decode.h"

namespace nfswalk::protocol {
namespace {

constexpr int kTriesMax = 4;

uint64_t Random() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

// Host and process identify the client in the server's list of clients.
std::string NewId() {
  constexpr size_t kHostBytesMax = 64;
  char host[kHostBytesMax + 1] = "";
  gethostname(host, kHostBytesMax);
  return "nfswalk " + std::string(host) + ' ' + std::to_string(getpid()) + ' ' +
         std::to_string(Random());
}

struct OfferReply {
  std::errc error{};
  int status = 0;
  ClientIdGrant grant;
};

struct ConfirmReply {
  std::errc error{};
  int status = 0;
  ServerAttributes server;
};

OfferReply Offer(RpcCaller& caller, uint64_t verifier, const std::string& id,
                 const sunrpc_auth::Credential& credential, RpcCaller::Budget& budget) {
  Compound compound;
  compound.SetClientId(verifier, id);
  return CallCompound<OfferReply>(caller, compound, credential, budget,
                                  [](CompoundReader& reader, OfferReply& reply) {
                                    TakeClientId(reader, reply.grant);
                                    reply.error = reader.error();
                                    reply.status = reader.status();
                                  });
}

// SETCLIENTID_CONFIRM. Safe to repeat (RFC 7530 16.34).
ConfirmReply Confirm(RpcCaller& caller, const ClientIdGrant& grant,
                     const sunrpc_auth::Credential& credential, RpcCaller::Budget& budget) {
  Compound compound;
  compound.ConfirmClientId(grant.client_id, grant.verifier).PutRoot().GetLimits();
  return CallCompound<ConfirmReply>(caller, compound, credential, budget,
                                    [](CompoundReader& reader, ConfirmReply& reply) {
                                      reader.Next(OP_SETCLIENTID_CONFIRM);
                                      reply.error = reader.error();
                                      reply.status = reader.status();
                                      if (reader.Next(OP_PUTROOTFH) != nullptr)
                                        TakeLimits(reader, reply.server);
                                    });
}

}  // namespace

ClientIdentity::ClientIdentity(RpcCaller& caller)
    : caller_(caller),
      credential_(sunrpc_auth::Credential::OfProcess()),
      verifier_(Random()),
      id_(NewId()) {}

ClientIdentity::Grant ClientIdentity::Establish(RpcCaller::Budget& budget) {
  Grant made{.error = std::errc::io_error};
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const OfferReply offered = Offer(caller_, verifier_, id_, credential_, budget);
    int status = offered.status;
    made.error = offered.error;
    if (offered.error == std::errc{}) {
      const ConfirmReply confirmed = Confirm(caller_, offered.grant, credential_, budget);
      status = confirmed.status;
      made.error = confirmed.error;
      made.client_id = offered.grant.client_id;
      if (const uint32_t lease_seconds = confirmed.server.lease_seconds; lease_seconds != 0) {
        made.lease = std::chrono::seconds(lease_seconds);
      }
    }
    if (made.error == std::errc{}) return made;
    // The id string is in use under another credential.
    if (status == NFS4ERR_CLID_INUSE) {
      id_ = NewId();
    } else if (status != NFS4ERR_STALE_CLIENTID) {  // the server restarted between the two calls
      return made;
    }
  }
  return made;
}

ClientIdentity::Renewal ClientIdentity::Renew(uint64_t client_id, RpcCaller::Budget& budget) const {
  Compound compound;
  compound.Renew(client_id);
  return CallCompound<Renewal>(caller_, compound, credential_, budget,
                               [](CompoundReader& reader, Renewal& reply) {
                                 reader.Next(OP_RENEW);
                                 reply.error = reader.error();
                                 reply.status = reader.status();
                               });
}

}  // namespace nfswalk::protocol
