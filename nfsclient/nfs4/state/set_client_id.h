// set_client_id: client ids of version 4.0: SETCLIENTID and RENEW (RFC 7530 9.1, 9.5).
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_SET_CLIENT_ID_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_SET_CLIENT_ID_H_

#include <cstdint>

#include "nfsclient/nfs4/state/client_ids.h"

namespace nfswalk::protocol {

class SetClientIds final : public ClientIds {
 public:
  explicit SetClientIds(rpc::Caller& caller) : caller_(caller) {}

  Granted Get(uint64_t known, Budget& budget) override;
  LeaseReply Begin(Budget&) override { return lease_; }
  Status Renew(uint64_t id, Budget& budget) override;
  Status CompleteReclaim(Budget&) override { return {}; }
  // There is no such operation.
  void Discard(uint64_t, Budget&) override {}
  bool has_sessions() const override { return false; }

 private:
  rpc::Caller& caller_;
  LeaseReply lease_;  // of the last Get()
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_SET_CLIENT_ID_H_
