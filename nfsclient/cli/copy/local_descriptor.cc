#include "nfsclient/cli/copy/local_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "nfsclient/cli/copy/local_acl.h"

namespace nfswalk::cli {
namespace {

std::errc Errno() { return static_cast<std::errc>(errno); }

}  // namespace

Result<LocalDescriptor> LocalDescriptor::OpenDirectory(int at, const std::string& path,
                                                       LastLink last_link) {
  const int flags =
      O_DIRECTORY | O_CLOEXEC | (last_link == LastLink::kRefuse ? O_NOFOLLOW : 0) | O_RDONLY;
  int fd = openat(at, path.c_str(), flags);
  if (fd < 0 && errno == EACCES) fd = openat(at, path.c_str(), flags | O_PATH);
  if (fd < 0 && errno == ELOOP && last_link == LastLink::kRefuse) errno = ENOTDIR;
  if (fd < 0) return std::unexpected(Errno());
  return LocalDescriptor(fd);
}

std::errc LocalDescriptor::SetMode(uint32_t mode) const {
  if (fchmod(fd_, mode) == 0) return {};
  return errno == EBADF ? std::errc::permission_denied : Errno();
}

std::errc LocalDescriptor::SetModeAlone(uint32_t mode) const {
  const std::errc error = RemoveAcl(fd_);
  return error == std::errc{} || error == std::errc::bad_file_descriptor ? SetMode(mode) : error;
}

std::errc LocalDescriptor::TakeRights(int directory, const std::string& name,
                                      const LocalDescriptor& replaced) const {
  struct stat found{}, named{};
  if (fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) return Errno();
  if (fstat(replaced.get(), &found) != 0) {  // ESTALE: removed, on a file system of a network
    return errno == ESTALE ? std::errc::no_such_file_or_directory : Errno();
  }
  if (found.st_dev != named.st_dev || found.st_ino != named.st_ino) {
    return std::errc::no_such_file_or_directory;
  }
  // Before the mode: chown(2) takes bits away, and rights are given to the right ones.
  const bool has_its_group =
      fchown(fd_, found.st_uid, found.st_gid) == 0 || fchown(fd_, -1, found.st_gid) == 0;
  // Before the mode as well: the bits of the group are the mask of an ACL, and more than the group
  // itself may do. Where its ACL is not to be had, its group is not either.
  const bool has_its_acl = has_its_group && CopyAcl(replaced.get(), fd_) == std::errc{};
  const uint32_t mode = ModeOfReplacement(found.st_mode, has_its_acl);
  return has_its_acl ? SetMode(mode) : SetModeAlone(mode);
}

std::errc LocalDescriptor::SetTimes(const Attributes& attributes) const {
  const auto spec = [](const protocol::Time& time) {
    return timespec{time.seconds, static_cast<long>(time.nanoseconds)};
  };
  const std::array times{spec(attributes.atime), spec(attributes.mtime)};
  if (futimens(fd_, times.data()) == 0) return {};
  // Opened with O_PATH: a link, or a directory for lookups alone.
  if (errno == EBADF && utimensat(fd_, "", times.data(), AT_EMPTY_PATH) == 0) return {};
  return Errno();
}

std::errc LocalDescriptor::Sync() const {
  if (fd_ < 0) return {};
  int result = 0;
  do {
    result = fsync(fd_);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == EBADF ? std::errc{} : Errno();
}

std::errc LocalDescriptor::Close() {
  if (fd_ < 0) return {};
  return close(std::exchange(fd_, -1)) == 0 ? std::errc{} : Errno();
}

}  // namespace nfswalk::cli
