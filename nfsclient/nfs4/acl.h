// acl: access control lists of version 4 (RFC 8881 6.2): nfsace4<> as it is sent, which is the
// value of the extended attribute "system.nfs4_acl" too, as of the kernel's client (nfs4_acl(5)).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_ACL_H_
#define NFSWALK_NFSCLIENT_NFS4_ACL_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace nfswalk::protocol {

// An entry: nfsace4.
struct Ace {
  uint32_t type = 0;
  uint32_t flags = 0;
  uint32_t mask = 0;
  std::string_view who;  // "OWNER@", "GROUP@", "EVERYONE@", or a name; borrowed
};

// Returns the entries, which borrow from `bytes`; nullopt where these are no such list.
std::optional<std::vector<Ace>> ReadAcl(std::string_view bytes);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_ACL_H_
