#include "nfsclient/nfs4/state/state_error.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include "nfsclient/rpc/session_slots.h"

namespace nfswalk::protocol {

StateError StateErrorOf(int nfsstat4) {
  if (rpc::IsSequenceError(static_cast<uint32_t>(nfsstat4))) return StateError::kWait;
  switch (nfsstat4) {
    case NFS4ERR_DELAY:
    case NFS4ERR_GRACE:
      return StateError::kWait;
    case NFS4ERR_BAD_SEQID:
      return StateError::kOwner;
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_OLD_STATEID:
    case NFS4ERR_ADMIN_REVOKED:
      return StateError::kState;
    case NFS4ERR_EXPIRED:
      return StateError::kLeaseExpired;
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
      return StateError::kServerRestart;
    default:
      return StateError::kNone;
  }
}

bool IsRevoked(int nfsstat4) {
  constexpr int kDelegationRevoked = 10087;  // NFS4ERR_DELEG_REVOKED
  return nfsstat4 == NFS4ERR_EXPIRED || nfsstat4 == NFS4ERR_ADMIN_REVOKED ||
         nfsstat4 == kDelegationRevoked;
}

bool AdvancesSequence(int nfsstat4) {
  switch (nfsstat4) {
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_BAD_SEQID:
    case NFS4ERR_BADZDR:  // libnfs' spelling of BADXDR
    case NFS4ERR_RESOURCE:
    case NFS4ERR_NOFILEHANDLE:
    case NFS4ERR_MOVED:
      return false;
    default:
      return true;
  }
}

}  // namespace nfswalk::protocol
