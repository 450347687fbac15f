// identities: who asks, and who that is to the server's kernel.
//
// AUTH_SYS carries at most 16 supplementary groups (RFC 5531 appendix A). The client sends the
// first 16 in the caller's order and leaves out the rest, as the README says and as Linux' client
// does without a server that looks groups up by itself. So the kernel has to be asked for the
// identity that the wire carries: OnTheWire().
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

// Users and groups that the trees of the tests give files to.
inline constexpr uint32_t kAlice = 1001;
inline constexpr uint32_t kBob = 1002;
inline constexpr uint32_t kStaff = 2000;
inline constexpr uint32_t kWheel = 2001;
// Whom a server takes for nobody in particular (nfs-ganesha's default).
inline constexpr uint32_t kAnonymous = 4294967294;

// 21: root, owner, group, other, members by supplementary group in every place up to the 40th.
std::vector<Identity> AllIdentities();

struct WireIdentity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
};

// `root_squash`: the server's option; it makes the ids 0 anonymous, wherever they stand.
WireIdentity OnTheWire(const sunrpc_auth::Credential& credential, bool root_squash);

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_IDENTITIES_H_
