// credential: the identity that a call is made for. A value: uid, gid and the supplementary groups
// in the caller's order, or AUTH_NONE.
//
// Two credentials are equal if uid, gid and every group in order are equal (CRED-1); all
// groups count, though AUTH_SYS carries only the first 16 (RFC 5531 appendix A). The hash is
// computed once, at construction, so that a lookup of a long group list costs one word.
//
// Thread safety: as any value.
#ifndef NFSWALK_SUNRPC_AUTH_CREDENTIAL_H_
#define NFSWALK_SUNRPC_AUTH_CREDENTIAL_H_

#include <cstdint>
#include <span>
#include <vector>

namespace nfswalk::sunrpc_auth {

enum class Flavor : uint8_t { kNone, kSys };

class Credential {
 public:
  // AUTH_NONE.
  Credential();
  // AUTH_SYS.
  Credential(uint32_t uid, uint32_t gid, std::vector<uint32_t> groups = {});
  // The effective uid and gid and the groups of this process.
  static Credential OfProcess();

  Flavor flavor() const { return flavor_; }
  uint32_t uid() const { return uid_; }
  uint32_t gid() const { return gid_; }
  std::span<const uint32_t> groups() const { return groups_; }
  uint64_t hash() const { return hash_; }

  friend bool operator==(const Credential& a, const Credential& b);

 private:
  Flavor flavor_;
  uint32_t uid_ = 0;
  uint32_t gid_ = 0;
  uint64_t hash_ = 0;
  std::vector<uint32_t> groups_;
};

}  // namespace nfswalk::sunrpc_auth

#endif  // NFSWALK_SUNRPC_AUTH_CREDENTIAL_H_
