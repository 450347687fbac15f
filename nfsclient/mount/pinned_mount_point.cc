#include "nfsclient/mount/pinned_mount_point.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace nfswalk::mount {
namespace {

// Opens the directory `path` for lookups alone, and by no link; -1 with errno. Before Linux 5.6 by
// none as its last component.
int OpenWithoutLinks(int at, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const auto fd = static_cast<int>(syscall(SYS_openat2, at, path.c_str(), &how, sizeof how));
  if (fd >= 0 || errno != ENOSYS) return fd;
  return openat(at, path.c_str(), static_cast<int>(how.flags) | O_NOFOLLOW);
}

bool IsRoots(uid_t owner, uid_t root) { return owner == 0 || owner == root; }

// Returns the first directory of the absolute `path` that another user than root may move, or put
// another one in the place of; empty if there is none. Root is who has "/": in a user namespace that
// is a user who is not mapped. What a FUSE file system says of owners is the word of its own.
std::string FindChangeable(const std::string& path) {
  struct stat above{};
  if (lstat("/", &above) != 0) return "/";
  const uid_t root = above.st_uid;
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string name = path.substr(0, end);
    struct stat found{};
    if (lstat(name.c_str(), &found) != 0) return name;
    const bool others_write = (above.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    const bool only_their_own = (above.st_mode & S_ISVTX) != 0 && IsRoots(found.st_uid, root);
    if (!IsRoots(above.st_uid, root) || (others_write && !only_their_own)) return name;
    struct statfs system{};
    if (end != std::string::npos && (statfs(name.c_str(), &system) != 0 || system.f_type == FUSE_SUPER_MAGIC)) {
      return name;
    }
    above = found;
  }
  return {};
}

}  // namespace

PinnedMountPoint::PinnedMountPoint(const std::string& directory, bool auto_unmount)
    : path_(directory), to_mount_(directory) {
  const size_t slash = path_.rfind('/');
  if (geteuid() != 0 || slash == std::string::npos || slash + 1 == path_.size()) return;
  if (auto_unmount) {
    const std::string changeable = FindChangeable(path_);
    if (!changeable.empty()) {
      error_ = fmt::format(
          "auto_unmount has fusermount3 mount by path, and another user may put another directory "
          "in the place of '{}': mount without that option, or where only root may do that",
          changeable);
    }
    return;
  }
  if (access("/proc/self/fd", F_OK) != 0) return;
  name_ = path_.substr(slash + 1);
  above_ = OpenWithoutLinks(AT_FDCWD, path_.substr(0, slash + 1));
  if (above_ >= 0) itself_ = OpenWithoutLinks(above_, name_);
  if (itself_ < 0) {
    error_ = errno == ELOOP ? "a link took the place of a directory of its path"
                            : std::generic_category().message(errno);
    return;
  }
  path_ = fmt::format("/proc/self/fd/{}/{}", above_, name_);
  to_mount_ = fmt::format("/proc/self/fd/{}", itself_);
}

PinnedMountPoint::~PinnedMountPoint() {
  if (above_ >= 0) close(above_);
  if (itself_ >= 0) close(itself_);
}

void PinnedMountPoint::LeadToRoot(const struct statx& mounted) const {
  if (itself_ < 0) return;
  int root = OpenWithoutLinks(above_, name_);
  struct statx now{};
  const bool is_root =
      root >= 0 && statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &now) == 0 &&
      now.stx_dev_major == mounted.stx_dev_major && now.stx_dev_minor == mounted.stx_dev_minor;
  if (!is_root && root >= 0) close(root);
  if (!is_root) root = open("/dev/null", O_PATH | O_CLOEXEC);
  dup3(root, itself_, O_CLOEXEC);
  close(root);
}

}  // namespace nfswalk::mount
