// types: files and directory entries, independent of the protocol version.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_TYPES_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_TYPES_H_

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "nfsclient/protocol/file_handle.h"

namespace nfswalk::protocol {

// errno values that std::errc has no name for.
inline constexpr std::errc kStale{ESTALE};
inline constexpr std::errc kOk{};

// The values are those of the type bits of st_mode shifted right by 12, as in inode(7).
enum class FileType : uint8_t {
  kFifo = 1,
  kCharacterDevice = 2,
  kDirectory = 4,
  kBlockDevice = 6,
  kRegular = 8,
  kSymlink = 10,
  kSocket = 12,
};

struct Time {
  int64_t seconds = 0;
  uint32_t nanoseconds = 0;
  friend bool operator==(const Time&, const Time&) = default;
};

// RFC 1813 2.6 fattr3; RFC 7530 5.
struct Attributes {
  FileType type = FileType::kRegular;
  uint32_t mode = 0;  // the 12 permission bits only
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size_bytes = 0;
  uint64_t used_bytes = 0;
  uint32_t rdev_major = 0;
  uint32_t rdev_minor = 0;
  uint64_t fsid = 0;
  uint64_t fileid = 0;
  Time atime;
  Time mtime;
  Time ctime;
  // Version 4: the change attribute. Version 3: derived from ctime, mtime and size. Compare for
  // equality only (ATTR-5).
  uint64_t change = 0;
  friend bool operator==(const Attributes&, const Attributes&) = default;
};

using OptionalAttributes = std::optional<Attributes>;

// The state of a file or directory before a change: its change attribute (RFC 7530 2.2.8
// change_info4), in version 3 derived from RFC 1813 2.6 wcc_attr as that of Attributes.
struct PreOpAttributes {
  uint64_t change = 0;

  // Returns whether these are the attributes `known`.
  bool Matches(const Attributes& known) const { return change == known.change; }
};

// RFC 1813 2.6 wcc_data, RFC 7530 2.2.8 change_info4. nullopt: not sent.
struct WeakCacheConsistency {
  std::optional<PreOpAttributes> before = {};
  std::optional<Attributes> after = {};
  // False: another client may have changed the directory between `before` and `after`.
  bool atomic = true;
};

struct Device {
  uint32_t major = 0;
  uint32_t minor = 0;
};

// A time to set; nullopt: the server's current time.
struct SetTime {
  std::optional<Time> time = {};
};
// sattr3. nullopt: not changed.
struct SetAttributes {
  std::optional<uint32_t> mode = {};
  std::optional<uint32_t> uid = {};
  std::optional<uint32_t> gid = {};
  std::optional<uint64_t> size_bytes = {};
  std::optional<SetTime> atime = {};
  std::optional<SetTime> mtime = {};

  bool empty() const { return !mode && !uid && !gid && !size_bytes && !atime && !mtime; }
};

// XATTR_CREATE, XATTR_REPLACE, or neither (setxattr(2)).
enum class XattrMode : uint32_t { kEither = 0, kCreate = 1, kReplace = 2 };

// An ACL, as the value of its extended attribute: "system.nfs4_acl" of version 4 (nfs4/acl.h), and
// of version 3 "system.posix_acl_access" and "system.posix_acl_default" (posix_acl.h).
enum class AclKind : uint8_t { kNfs4, kPosixAccess, kPosixDefault };

// SEEK_DATA and SEEK_HOLE of lseek(2).
enum class Content : uint32_t { kData = 0, kHole = 1 };
// The effect of fallocate(2) on a range of a file: space for it, with which the file may grow, or a
// hole in it (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE).
struct Allocation {
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  bool is_hole = false;
};

// A part of one file that is copied into another, or elsewhere in the same (copy_file_range(2)).
struct CopiedRange {
  uint64_t source_offset_bytes = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
};

// statvfs(3); RFC 1813 3.3.18, RFC 7530 5.8.2. What a server does not say is 0.
struct FileSystemSpace {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t available_bytes = 0;  // to the caller
  uint64_t total_files = 0;
  uint64_t free_files = 0;
  uint64_t available_files = 0;
};

struct DirectoryEntry {
  std::string name;
  uint64_t fileid = 0;
  uint64_t cookie = 0;
  OptionalAttributes attributes;
  std::optional<FileHandle> handle;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_TYPES_H_
