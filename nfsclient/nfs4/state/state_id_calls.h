// state_id_calls: TEST_STATEID and FREE_STATEID (RFC 8881 18.48, 18.38), which are of sessions, and
// DELEGRETURN (RFC 7530 16.8). A state id that the server has revoked is kept there until it is
// freed.
//
// Thread safety: any.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATE_STATE_ID_CALLS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATE_STATE_ID_CALLS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "nfsclient/nfs4/state/client_ids.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/rpc/caller.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

// At most so many are tested by one call.
inline constexpr size_t kTestedMax = 128;

struct Tested : ClientIds::Status {
  std::vector<int> statuses = {};  // an nfsstat4 of each, without error
};
// Preconditions: at most kTestedMax.
Tested TestStateIds(rpc::Caller& caller, std::span<const StateId> states,
                    rpc::Caller::Budget& budget);

// Returns whether the server has answered, whatever: it may have forgotten the state id by itself.
[[nodiscard]] bool FreeStateId(rpc::Caller& caller, const StateId& state,
                               const sunrpc_auth::Credential& credential,
                               rpc::Caller::Budget& budget);

// Sends DELEGRETURN until the server has answered, or `budget` ends: it takes back by itself what
// it is not given. `file`: whose delegation it is.
ClientIds::Status SendDelegReturn(rpc::Caller& caller, const StateId& delegation,
                                  const FileHandle& file, const sunrpc_auth::Credential& credential,
                                  rpc::Caller::Budget& budget);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATE_STATE_ID_CALLS_H_
