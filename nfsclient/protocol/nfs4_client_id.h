// nfs4_client_id: the client id of version 4.0 (RFC 7530 9.1.1, 16.33, 16.34).
//
// Each object is a client of its own: its id string is unique and its verifier constant, so that a
// restarted server recognises it and lets it reclaim. Calls use the credential of the process,
// independent of who opens files.
//
// Thread safety: Renew(): any number of threads; Establish(): one thread at a time.
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
  // Used if the server sends no lease time.
  static constexpr std::chrono::seconds kDefaultLease{90};

  struct Grant {
    std::errc error{};
    uint64_t client_id = 0;
    std::chrono::seconds lease = kDefaultLease;
  };
  struct Renewal {
    std::errc error{};
    int status = 0;  // nfsstat4, if there was a reply
  };

  // `caller` outlives it.
  explicit ClientIdentity(RpcCaller& caller);

  // Sends SETCLIENTID and SETCLIENTID_CONFIRM. Errors: those of rpc_retry.h and the server's.
  Grant Establish(RpcCaller::Budget& budget);
  // Sends RENEW.
  Renewal Renew(uint64_t client_id, RpcCaller::Budget& budget) const;

 private:
  RpcCaller& caller_;
  const sunrpc_auth::Credential credential_;
  const uint64_t verifier_;
  std::string id_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_CLIENT_ID_H_
