// posix_acl: POSIX access control lists (acl(5)), as the values of the extended attributes
// "system.posix_acl_access" and "system.posix_acl_default" (linux/posix_acl_xattr.h).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_POSIX_ACL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_POSIX_ACL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::protocol {

// An entry, with the numbers of linux/posix_acl.h.
struct PosixAce {
  static constexpr uint16_t kUserObj = 0x01, kUser = 0x02, kGroupObj = 0x04, kGroup = 0x08,
                            kMask = 0x10, kOther = 0x20;
  static constexpr uint32_t kNoId = UINT32_MAX;

  uint16_t tag = 0;
  uint16_t rights = 0;  // 0 to 7
  uint32_t id = kNoId;  // of kUser and kGroup alone

  friend bool operator==(const PosixAce&, const PosixAce&) = default;
};
using PosixAcl = std::vector<PosixAce>;

inline constexpr size_t kPosixAclEntriesMax = 1024;  // of version 3 (NFS_ACL_MAX_ENTRIES)

// Whether it is one (acl_valid(3)): the entries in the order of their tags, then of their ids, each
// once, all three that a mode has, and a mask where any user or group is named.
bool IsValid(const PosixAcl& acl);

// Returns the list, which is valid or empty; nullopt where the bytes are none.
std::optional<PosixAcl> ReadPosixAcl(std::string_view value);
std::string PosixAclValue(const PosixAcl& acl);

// Returns the list that says what a mode says.
PosixAcl PosixAclOf(uint32_t mode);

// Whether a mode says as much: it has the three entries alone.
bool IsAsMode(const PosixAcl& acl);

// Returns the bits of a mode, 0 to 077, that the group and the others have by the ACL, and no more
// than all that it names: who is named may be one of them. Nothing of one that is empty.
uint32_t ClassModeOf(const PosixAcl& acl);

// Returns the entry as getfacl(1) prints it with -n: "user:1000:r-x".
std::string AceText(const PosixAce& ace);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_POSIX_ACL_H_
