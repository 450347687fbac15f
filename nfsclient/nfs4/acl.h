// acl: access control lists of version 4 (RFC 8881 6.2): nfsace4<> as it is sent, which is the
// value of the extended attribute "system.nfs4_acl" too, as of the kernel's client (nfs4_acl(5)).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_ACL_H_
#define NFSWALK_NFSCLIENT_NFS4_ACL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::protocol {

// An entry: nfsace4, with numbers of RFC 8881 6.2.1.
struct Ace {
  static constexpr uint32_t kAllow = 0, kDeny = 1, kAudit = 2, kAlarm = 3;
  static constexpr uint32_t kFileInherit = 0x1, kDirectoryInherit = 0x2, kNoPropagate = 0x4,
                            kInheritOnly = 0x8, kSuccess = 0x10, kFailure = 0x20, kGroup = 0x40;
  static constexpr uint32_t kRead = 0x1, kWrite = 0x2, kAppend = 0x4, kWriteNamed = 0x10,
                            kExecute = 0x20, kDeleteChild = 0x40, kWriteAttributes = 0x100,
                            kDelete = 0x10000, kWriteAcl = 0x40000, kWriteOwner = 0x80000;

  uint32_t type = 0;
  uint32_t flags = 0;
  uint32_t mask = 0;
  std::string_view who;  // "OWNER@", "GROUP@", "EVERYONE@", or a name; borrowed
};

// Returns the entries, which borrow from `bytes`; nullopt where these are no such list.
std::optional<std::vector<Ace>> ReadAcl(std::string_view bytes);

// Whether a mode says as much: the ACL names the owner, the group and everyone alone, new files
// inherit nothing of it, and the latter two are allowed no part of a right that a mode has as a
// whole, and none that it leaves to the owner.
bool IsAsMode(const std::vector<Ace>& acl);

// Returns the bits of a mode, 0 to 077, that the group and the others have by the ACL (RFC 8881
// 6.3.2), but for what it denies to anyone by name, who may be one of them.
uint32_t ClassModeOf(const std::vector<Ace>& acl);

// Returns the entry as nfs4_getfacl(1) prints it, "A:g:GROUP@:rxtncy"; what has no letter is left
// out. The name is as the server has sent it.
std::string AceText(const Ace& ace);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_ACL_H_
