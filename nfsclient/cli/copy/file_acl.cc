#include "nfsclient/cli/copy/file_acl.h"

#include <linux/xattr.h>

#include <system_error>
#include <utility>

#include "nfsclient/nfs4/acl.h"
#include "nfsclient/protocol/posix_acl.h"

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
      if (const auto acl = protocol::ReadPosixAcl(*value)) {
        class_mode = protocol::ClassModeOf(*acl);
        is_as_mode = protocol::IsAsMode(*acl);
      }
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
