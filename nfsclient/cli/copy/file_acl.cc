#include "nfsclient/cli/copy/file_acl.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/nfs4/acl.h"

namespace nfswalk::cli {
namespace {

constexpr char kPosixAcl[] = XATTR_NAME_POSIX_ACL_ACCESS;
constexpr char kNfs4Acl[] = "system.nfs4_acl";
constexpr uint32_t kAllOthers = 0077;

// Whether the file, or its file system, has none of this kind.
bool MeansNone(std::errc error) {
  return error == std::errc::no_message_available || error == std::errc::operation_not_supported ||
         error == std::errc::function_not_supported;
}

// Returns the bits of a mode, 0 to 077, that the group and the others have by a POSIX ACL, and no
// more than all that it names: who is named may be one of them. Nothing where the bytes are none.
uint32_t ClassModeOfPosix(std::string_view bytes) {
  posix_acl_xattr_entry entry;
  constexpr size_t kHeaderBytes = sizeof(posix_acl_xattr_header);
  if (bytes.size() < kHeaderBytes || (bytes.size() - kHeaderBytes) % sizeof entry != 0) return 0;
  uint32_t group = 0, others = 0, mask = 7;
  std::optional<uint32_t> named;  // what all of them may do
  for (bytes.remove_prefix(kHeaderBytes); !bytes.empty(); bytes.remove_prefix(sizeof entry)) {
    std::memcpy(&entry, bytes.data(), sizeof entry);
    const uint32_t rights = le16toh(entry.e_perm) & 7u;
    const uint32_t tag = le16toh(entry.e_tag);
    if (tag == ACL_GROUP_OBJ) group = rights;
    if (tag == ACL_OTHER) others = rights;
    if (tag == ACL_MASK) mask = rights;
    if (tag == ACL_USER || tag == ACL_GROUP) named = named.value_or(7) & rights;
  }
  const uint32_t all = named ? *named & mask : 7;
  return (group & mask & all) << 3 | (others & all);
}

}  // namespace

FileRights RightsOf(Session& session, const XattrSource& source, const std::string& from,
                    uint32_t mode) {
  for (const char* const name : {kPosixAcl, kNfs4Acl}) {
    auto value = source.value(name);
    if (!value && MeansNone(value.error())) continue;
    if (!value) {
      session.Fail(from, value.error());
      return {.mode = mode & ~kAllOthers};
    }
    uint32_t class_mode = 0;
    bool is_as_mode = false;
    if (name == kPosixAcl) {
      class_mode = ClassModeOfPosix(*value);
    } else if (const auto acl = protocol::ReadAcl(*value)) {
      class_mode = protocol::ClassModeOf(*acl);
      is_as_mode = protocol::IsAsMode(*acl);
    }
    return {.mode = mode & (~kAllOthers | class_mode),
            .acl = FileAcl{name, *std::move(value), is_as_mode}};
  }
  return {.mode = mode};
}

std::errc SetRights(Session& session, const FileRights& rights, const std::string& from,
                    const XattrSetter& set, const std::function<std::errc(uint32_t)>& set_mode,
                    const std::string& to) {
  const std::errc error = set(rights.acl->name, rights.acl->value);
  if (error == std::errc{}) return {};
  if (!rights.acl->is_as_mode || !MeansNone(error)) session.FailToKeep(from, to, "ACL", error);
  return set_mode(rights.mode);
}

void ReportDefaultAcl(Session& session, const XattrSource& source, const std::string& from,
                      const std::string& to) {
  const auto value = source.value(XATTR_NAME_POSIX_ACL_DEFAULT);
  if (!value && MeansNone(value.error())) return;
  session.FailToKeep(from, to, "default ACL",
                     value ? std::errc::operation_not_supported : value.error());
}

}  // namespace nfswalk::cli
