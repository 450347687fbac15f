// local_descriptor: an open file, directory or symbolic link of this machine. What is done through
// it is done to that one, wherever its name leads by then.
//
// Thread safety: one thread. Errors are those of open(2), fchmod(2), futimens(3), fsync(2) ...
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_DESCRIPTOR_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_DESCRIPTOR_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// Returns the mode of a file that takes the place of another with mode `mode`: without the bits
// that act for its owner or group. With another group, that one and all others may do what both the
// group and all others might: members of the old group are among the others then.
inline uint32_t ModeOfReplacement(uint32_t mode, bool has_its_group) {
  const uint32_t kept = mode & 01777;
  const uint32_t of_both = kept & kept >> 3 & 07;
  return has_its_group ? kept : (kept & 01700) | of_both << 3 | of_both;
}

class LocalDescriptor {
 public:
  enum class LastLink : uint8_t { kFollow, kRefuse };

  LocalDescriptor() = default;
  // Owns `fd`; -1: none.
  explicit LocalDescriptor(int fd) : fd_(fd) {}
  LocalDescriptor(LocalDescriptor&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  LocalDescriptor& operator=(LocalDescriptor&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }
  ~LocalDescriptor() { (void)Close(); }

  // Opens the directory `path`, from the directory `at` (openat(2)). One that may not be read is
  // opened for lookups alone (O_PATH). not_a_directory for a link that is refused.
  static Result<LocalDescriptor> OpenDirectory(int at, const std::string& path, LastLink last_link);

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

  // permission_denied for a directory opened for lookups alone.
  [[nodiscard]] std::errc SetMode(uint32_t mode) const;
  // SetMode(), without an ACL that the file may have got from its directory.
  [[nodiscard]] std::errc SetModeAlone(uint32_t mode) const;
  // Gives the file the owner and group of `replaced`, as far as this process may, its ACL or none,
  // and ModeOfReplacement(). no_such_file_or_directory where that is no longer what `name` leads to
  // in `directory`. `replaced` may be a descriptor of a path alone; while it is open, a local
  // file system gives no other file its inode number.
  [[nodiscard]] std::errc TakeRights(int directory, const std::string& name,
                                     const LocalDescriptor& replaced) const;
  [[nodiscard]] std::errc SetTimes(const Attributes& attributes) const;
  // Returns when the data of a file, or the names in a directory, are on stable storage: where the
  // file system has no fsync(2), the directory was opened for lookups alone, or nothing is open, at
  // once.
  [[nodiscard]] std::errc Sync() const;
  // A full disk may show only here.
  [[nodiscard]] std::errc Close();

 private:
  int fd_ = -1;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_DESCRIPTOR_H_
