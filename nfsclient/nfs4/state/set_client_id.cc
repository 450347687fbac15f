#include "nfsclient/nfs4/state/set_client_id.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"

namespace nfswalk::protocol {

// SETCLIENTID and SETCLIENTID_CONFIRM, which is safe to repeat (RFC 7530 16.34).
ClientIds::Granted SetClientIds::Get(uint64_t, Budget& budget) {
  struct OfferReply : Status {
    ClientIdGrant grant;
  };
  Granted granted;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    Compound offer;
    offer.SetClientId(verifier_, name_);
    const auto offered = CallCompound<OfferReply>(caller_, offer, credential_, budget,
                                                  [](CompoundReader& reader, OfferReply& reply) {
                                                    TakeClientId(reader, reply.grant);
                                                    SetStatus(reader, reply);
                                                  });
    static_cast<Status&>(granted) = offered;
    if (offered.error == std::errc{}) {
      granted.asked = Clock::now();
      Compound confirmation;
      confirmation.ConfirmClientId(offered.grant.client_id, offered.grant.verifier);
      confirmation.PutRoot().GetLimits();
      const auto confirmed =
          CallCompound<LeaseReply>(caller_, confirmation, credential_, budget,
                                   [](CompoundReader& reader, LeaseReply& reply) {
                                     reader.Next(OP_SETCLIENTID_CONFIRM);
                                     SetStatus(reader, reply);
                                     DecodeLease(reader, reply);
                                   });
      static_cast<Status&>(granted) = confirmed;
      granted.id = offered.grant.client_id;
      lease_ = confirmed;
      if (confirmed.error == std::errc{}) return granted;
    }
    if (granted.status == NFS4ERR_CLID_INUSE) {
      ChangeName();
    } else if (granted.status != NFS4ERR_STALE_CLIENTID) {  // it restarted between the two
      break;
    }
  }
  return granted;
}

ClientIds::Status SetClientIds::Renew(uint64_t id, Budget& budget) {
  Compound compound;
  compound.Renew(id);
  Status renewed = CallCompound<Status>(caller_, compound, credential_, budget,
                                        [](CompoundReader& reader, Status& reply) {
                                          reader.Next(OP_RENEW);
                                          SetStatus(reader, reply);
                                        });
  // Who has no path for callbacks is told so, and keeps the lease (RFC 7530 16.28).
  if (renewed.status == NFS4ERR_CB_PATH_DOWN) return {};
  return renewed;
}

}  // namespace nfswalk::protocol
