// nfs4_client_id: who we are to the server (RFC 7530 9.1.1, 16.33, 16.34), and that we still are.
//
// Every object is a client of its own, with an id string that nobody else uses and a verifier that
// stays the same for its life: so a server that restarted recognises it and lets it reclaim. The
// calls go with the process's own identity, whoever opens files.
//
// Thread safety: Renew(): any number of threads; Establish(): one at a time.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CLIENT_ID_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CLIENT_ID_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include "nfsclient/protocol/rpc_caller.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

class ClientIdentity {
 public:
  // For a server that does not tell its own.
  static constexpr std::chrono::seconds kUsualLease{90};

  struct Grant {
    std::errc error{};
    uint64_t client_id = 0;
    std::chrono::seconds lease = kUsualLease;
  };
  struct Renewal {
    std::errc error{};
    int status = 0;  // nfsstat4, if there was an answer
  };

  // `caller` outlives it.
  explicit ClientIdentity(RpcCaller& caller);

  // SETCLIENTID and SETCLIENTID_CONFIRM. Errors: those of rpc_retry.h, what the server says.
  Grant Establish(RpcCaller::Budget& budget);
  // RENEW.
  Renewal Renew(uint64_t client_id, RpcCaller::Budget& budget) const;

 private:
  RpcCaller& caller_;
  const sunrpc_auth::Credential credential_;
  const uint64_t verifier_;
  std::string id_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CLIENT_ID_H_
