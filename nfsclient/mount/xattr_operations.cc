// Requests about extended attributes.
//
// A kernel that has them asks for "security.capability" before each write(2), which is a request
// more: a mount has them where the user wants them (`xattr`), else the first request is answered
// with ENOSYS, and the kernel sends no more.

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/operations.h"

namespace nfswalk::mount {
namespace {

// Answers what needs no server, and returns whether it has. `name`: "" for all.
bool AnswerWithoutServer(fuse_req_t request, std::string_view name) {
  const FileSystem& file_system = FileSystem::Of(request);
  const std::string_view acl = file_system.version == 3 ? "system.posix_acl_" : "system.nfs4_acl";
  const bool is_known = name.empty() || name.starts_with("user.") || name.starts_with(acl);
  if (!file_system.has_xattrs) {
    fuse_reply_err(request, ENOSYS);
  } else if (!is_known) {
    fuse_reply_err(request, EOPNOTSUPP);
  } else {
    return false;
  }
  return true;
}

// As getxattr(2): a size of 0 asks for the size that is needed.
std::errc Reply(fuse_req_t request, std::string_view bytes, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request, bytes.size());
  } else if (bytes.size() > size) {
    return std::errc::result_out_of_range;
  } else {
    fuse_reply_buf(request, bytes.data(), bytes.size());
  }
  return {};
}

void Get(fuse_req_t request, fuse_ino_t number, const char* name, size_t size) {
  if (AnswerWithoutServer(request, name)) return;
  AnswerOnWorker(request, [number, name = std::string(name), size](const Try& attempt) {
    const auto value =
        attempt.file_system.nodes.At(number).GetXattr("", name, attempt.credential, attempt.flags);
    return value ? Reply(attempt.request, *value, size) : value.error();
  });
}

// A file system without them has none to list, as in listxattr(2) of the kernel's client.
void List(fuse_req_t request, fuse_ino_t number, size_t size) {
  if (AnswerWithoutServer(request, "")) return;
  AnswerOnWorker(request, [number, size](const Try& attempt) {
    const auto names =
        attempt.file_system.nodes.At(number).ListXattrs("", attempt.credential, attempt.flags);
    const bool has_none = !names && names.error() == std::errc::operation_not_supported;
    if (!names && !has_none) return names.error();
    std::string all;
    if (names) {
      for (const std::string& name : *names) all.append(name).push_back('\0');
    }
    return Reply(attempt.request, all, size);
  });
}

void Set(fuse_req_t request, fuse_ino_t number, const char* name, const char* value, size_t size,
         int flags) {
  if (AnswerWithoutServer(request, name)) return;
  const XattrMode how{
      static_cast<uint32_t>(flags)};  // XATTR_CREATE, XATTR_REPLACE; both are refused
  AnswerOnWorker(request, [number, name = std::string(name), value = std::string(value, size),
                           how](const Try& attempt) {
    const std::errc error = attempt.file_system.nodes.At(number).SetXattr(
        "", name, value, how, attempt.credential, attempt.flags);
    if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
    return error;
  });
}

void Remove(fuse_req_t request, fuse_ino_t number, const char* name) {
  if (AnswerWithoutServer(request, name)) return;
  AnswerOnWorker(request, [number, name = std::string(name)](const Try& attempt) {
    const std::errc error = attempt.file_system.nodes.At(number).RemoveXattr(
        "", name, attempt.credential, attempt.flags);
    if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
    return error;
  });
}

}  // namespace

void AddXattrOperations(fuse_lowlevel_ops& operations) {
  operations.getxattr = Get;
  operations.listxattr = List;
  operations.setxattr = Set;
  operations.removexattr = Remove;
}

}  // namespace nfswalk::mount
