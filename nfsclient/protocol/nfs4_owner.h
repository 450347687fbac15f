// nfs4_owner: maps NFSv4's owner and group strings to ids and back (RFC 7530 5.9).
//
// A decimal string is the id itself, as usual with AUTH_SYS (RFC 7530 5.9, Linux'
// nfs4_disable_idmapping). "name@domain" is looked up in passwd(5) or group(5) if the domain is the
// local one (idmap_domain.h). All others are nobody (65534). Results, negative ones too, are cached
// for ten minutes (ttl_cache.h).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OWNER_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OWNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace nfswalk::protocol {

inline constexpr uint32_t kNobody = 65534;

class OwnerNames {
 public:
  // `domain`: if empty, SystemIdmapDomain() when first needed, which may block on DNS.
  explicit OwnerNames(std::string_view domain = {});
  ~OwnerNames();

  // Return the id, or kNobody. Numbers take no lock and allocate nothing; a name may block on the
  // user database.
  uint32_t UidOf(std::string_view owner) const;
  uint32_t GidOf(std::string_view group) const;
  // Return "name@domain", or the number if it has no name. For servers that refuse numbers
  // (NFS4ERR_BADOWNER).
  std::string NameOfUid(uint32_t uid) const;
  std::string NameOfGid(uint32_t gid) const;
  const std::string& domain() const;

 private:
  class Cache;
  const std::unique_ptr<Cache> cache_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OWNER_H_
