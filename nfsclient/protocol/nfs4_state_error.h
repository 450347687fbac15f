// nfs4_state_error: what a status says of the state that a server keeps for us (RFC 7530
// 9, 13.1).
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_STATE_ERROR_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_STATE_ERROR_H_

#include <cstdint>

namespace nfswalk::protocol {

enum class StateError : uint8_t {
  kNone,           // nothing
  kWait,           // DELAY, GRACE: not executed, ask again later
  kOwner,          // BAD_SEQID: server and client count the owner's calls differently
  kState,          // BAD_STATEID, OLD_STATEID: this state id alone
  kLeaseExpired,   // EXPIRED: all that this client had
  kServerRestart,  // STALE_CLIENTID, STALE_STATEID: the same, and it may be reclaimed
  kRevoked,        // ADMIN_REVOKED: for good
};

StateError StateErrorOf(int nfsstat4);

// True if the client id itself is gone.
constexpr bool ConcernsClient(StateError trouble) {
  return trouble == StateError::kLeaseExpired || trouble == StateError::kServerRestart;
}

// True if an OPEN, OPEN_CONFIRM or CLOSE that was executed and ended in `nfsstat4` used up its
// sequence number, as nearly all errors do (RFC 7530 9.1.7).
bool AdvancesSequence(int nfsstat4);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_STATE_ERROR_H_
