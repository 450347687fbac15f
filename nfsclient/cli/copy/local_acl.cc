#include "nfsclient/cli/copy/local_acl.h"

#include <fmt/format.h>
#include <linux/limits.h>
#include <linux/xattr.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

namespace nfswalk::cli {
namespace {

using AclBytes = std::array<char, XATTR_SIZE_MAX>;

// No file system without ACLs, and no file without one.
bool MeansNone(int error) { return error == ENODATA || error == EOPNOTSUPP; }

// Also by a descriptor of a path alone.
ssize_t ReadAcl(int file, const char* attribute, AclBytes& acl) {
  const ssize_t size = fgetxattr(file, attribute, acl.data(), acl.size());
  if (size >= 0 || errno != EBADF) return size;
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  return getxattr(path.c_str(), attribute, acl.data(), acl.size());
}

}  // namespace

std::errc CopyAcl(int from, int to) {
  AclBytes acl;
  const ssize_t size = ReadAcl(from, XATTR_NAME_POSIX_ACL_ACCESS, acl);
  if (size < 0 && !MeansNone(errno)) return std::errc{errno};
  if (size < 0) return RemoveAcl(to);
  return fsetxattr(to, XATTR_NAME_POSIX_ACL_ACCESS, acl.data(), static_cast<size_t>(size), 0) == 0
             ? std::errc{}
             : std::errc{errno};
}

std::errc RemoveAcl(int file) {
  if (fremovexattr(file, XATTR_NAME_POSIX_ACL_ACCESS) == 0 || MeansNone(errno)) return {};
  return std::errc{errno};
}

}  // namespace nfswalk::cli
