// state_error: classifies nfsstat4 by the state that it invalidates (RFC 7530 9, 13.1).
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_STATE_ERROR_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_STATE_ERROR_H_

#include <cstdint>
#include <system_error>

namespace nfswalk::protocol {

enum class StateError : uint8_t {
  kNone,           // not about state
  kWait,           // DELAY, GRACE: not executed, to be repeated later
  kOwner,          // BAD_SEQID: the open-owner's sequence
  kState,          // BAD_STATEID, OLD_STATEID, ADMIN_REVOKED: this state id alone
  kLeaseExpired,   // EXPIRED: the client id and all its state; of a state id perhaps that alone
  kServerRestart,  // STALE_CLIENTID, STALE_STATEID: the same, and it may be reclaimed
};

StateError StateErrorOf(int nfsstat4);

// Returns whether the server keeps the state id in mind until it is freed (FREE_STATEID), though it
// can be used for nothing else.
bool IsRevoked(int nfsstat4);

// Returns whether the client id itself is gone.
constexpr bool ConcernsClient(StateError state_error) {
  return state_error == StateError::kLeaseExpired || state_error == StateError::kServerRestart;
}

// Returns whether a call that ended in `error` may have been executed, and its reply may come yet.
constexpr bool IsUnanswered(std::errc error) {
  return error == std::errc::timed_out || error == std::errc::operation_canceled ||
         error == std::errc::not_enough_memory;
}

// Returns whether an OPEN, OPEN_CONFIRM or CLOSE executed with `nfsstat4` advances the open-owner's
// sequence, as all but eight errors do (RFC 7530 9.1.7).
bool AdvancesSequence(int nfsstat4);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_STATE_ERROR_H_
