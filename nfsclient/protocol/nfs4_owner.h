// nfs4_owner: users and groups are strings in NFSv4 (RFC 7530 5.9).
//
// A string of digits is the number itself, as servers and clients with AUTH_SYS use it (RFC 7530
// 5.9, Linux' nfs4_disable_idmapping). "name@domain" is looked up in the system's user database if
// the domain is ours: Domain of /etc/idmapd.conf, else the host's DNS domain, else "localdomain".
// All else is nobody (65534). What the system said is remembered for ten minutes, also that it
// knew nothing.
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
  // `domain`: empty, to find it as said above when it is first needed, which may wait for DNS.
  explicit OwnerNames(std::string_view domain = {});
  ~OwnerNames();

  // Digits take neither a lock nor memory; a name may wait for the system.
  uint32_t UidOf(std::string_view owner) const;
  uint32_t GidOf(std::string_view group) const;
  // "name@domain", or the number if the system has no name for it. For a server that refuses
  // numbers (NFS4ERR_BADOWNER).
  std::string NameOfUid(uint32_t uid) const;
  std::string NameOfGid(uint32_t gid) const;
  const std::string& domain() const;

 private:
  class Cache;
  const std::unique_ptr<Cache> cache_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_OWNER_H_
