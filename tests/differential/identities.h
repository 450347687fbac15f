// identities: credentials of the questions, and their form on the wire.
//
// AUTH_SYS carries at most 16 supplementary groups (RFC 5531 appendix A). The client sends the
// first 16 in the caller's order, as Linux' client does with a server that does not map groups
// itself. So the kernel is queried with what the wire carries: OnTheWire().
//
// Thread safety: as any value.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_IDENTITIES_H_
#define NFSWALK_TESTS_DIFFERENTIAL_IDENTITIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sunrpc_auth/credential.h"

namespace nfswalk::differential {

struct Identity {
  std::string name;
  sunrpc_auth::Credential credential;
};

// Owners of files in the trees.
inline constexpr uint32_t kAlice = 1001;
inline constexpr uint32_t kBob = 1002;
inline constexpr uint32_t kStaff = 2000;
inline constexpr uint32_t kWheel = 2001;
// The anonymous uid and gid of the server.
inline constexpr uint32_t kAnonymous = 4294967294;

// Returns 21: root, owner, group, other, members by supplementary group in every place up to the
// 40th.
std::vector<Identity> AllIdentities();

struct WireIdentity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
};

// Lists what the server may do with ids 0: nothing, map each to kAnonymous, or besides drop the
// groups of uid 0.
enum class Squash { kNone, kIds, kIdsAndGroups };

WireIdentity OnTheWire(const sunrpc_auth::Credential& credential, Squash squash);

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_IDENTITIES_H_
