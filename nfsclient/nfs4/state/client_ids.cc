#include "nfsclient/nfs4/state/client_ids.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/sessions.h"
#include "nfsclient/nfs4/state/set_client_id.h"

namespace nfswalk::protocol {
namespace {

uint64_t Random() { return uint64_t{arc4random()} << 32 | arc4random(); }

// Host and process identify the client in the server's list of clients.
std::string NewName() {
  constexpr size_t kHostBytesMax = 64;
  char host[kHostBytesMax + 1] = "";
  gethostname(host, kHostBytesMax);
  return "nfswalk " + std::string(host) + ' ' + std::to_string(getpid()) + ' ' +
         std::to_string(Random());
}

}  // namespace

std::unique_ptr<ClientIds> ClientIds::Make(rpc::Caller& caller, Delegations& delegations,
                                           Listener listener) {
  if (caller.has_sessions()) {
    return std::make_unique<Sessions>(caller, delegations, std::move(listener));
  }
  return std::make_unique<SetClientIds>(caller);
}

ClientIds::ClientIds()
    : credential_(sunrpc_auth::Credential::OfProcess()), verifier_(Random()), name_(NewName()) {}

void ClientIds::ChangeName() { name_ = NewName(); }

void ClientIds::SetStatus(const CompoundReader& reader, Status& reply) {
  reply.error = reader.error();
  reply.status = reader.status();
}

void ClientIds::DecodeLease(CompoundReader& reader, LeaseReply& reply) {
  ServerAttributes server;
  if (reader.Next(OP_PUTROOTFH) && TakeLimits(reader, server)) {
    reply.lease = std::min(std::chrono::seconds(server.lease_seconds), kLeaseMax);
  }
}

}  // namespace nfswalk::protocol
