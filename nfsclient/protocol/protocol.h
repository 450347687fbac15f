// protocol: the one seam to the wire. NFSv3 (nfs3.h) and NFSv4 (nfs4.h) implement it, tests
// decorate it.
//
// Every call blocks its caller until the server answered, the deadline of a soft mount passed
// (errc::timed_out) or the connection was closed for good (errc::operation_canceled). A reply whose
// `error` is not errc{} carries only the post-operation attributes that the server sent with the
// error. Errors are errno values: the table of RFC 1813 2.6 maps each nfsstat3 to the errno of the
// same name, as RFC 7530 13 does for nfsstat4; NFS3ERR_JUKEBOX is retried inside, as are
// NFS4ERR_DELAY and NFS4ERR_GRACE; NFS3ERR_BADHANDLE reads as ESTALE, anything that does not parse
// is errc::io_error (EIO).
//
// Thread safety: all calls may be made from any number of threads at once.
// Preconditions of all calls: the caller holds no spin lock and is in no RCU read section.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_PROTOCOL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_PROTOCOL_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/protocol/attributes.h"
#include "nfsclient/protocol/file_handle.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

// errno values that std::errc has no name for.
inline constexpr std::errc kStale{ESTALE};
inline constexpr std::errc kOk{};

// All bits of ACCESS (RFC 1813 3.3.4), which access_cache/access_rights.h names.
inline constexpr uint32_t kAccessAll = 0x3f;

using OptionalAttributes = std::optional<Attributes>;
using sunrpc_auth::Credential;

struct AttributesReply {
  std::errc error{};
  Attributes attributes;
};
struct LookupReply {
  std::errc error{};
  FileHandle handle;
  OptionalAttributes attributes;
  OptionalAttributes directory;
};
// One name of a path that was resolved.
struct PathStep {
  FileHandle handle;
  Attributes attributes;
  std::optional<uint32_t> granted = {};  // as AccessReply's
};
struct LookupPathReply {
  std::errc error{};  // why it ended early; errc{} if all names were resolved
  // The server has said of the name behind the last of `steps` that it is not there.
  bool name_is_missing = false;
  // Of the directory where the path begins.
  OptionalAttributes directory = {};
  std::optional<uint32_t> granted = {};
  std::vector<PathStep> steps = {};
};
// What the server keeps for an open file: version 4's share reservation (RFC 7530 9.9). Its
// destructor tells the server, and may wait for it.
class OpenState {
 public:
  virtual ~OpenState() = default;
};
struct OpenReply {
  std::errc error{};
  std::unique_ptr<OpenState> state;  // null where the server keeps nothing
  OptionalAttributes attributes;
};
struct AccessReply {
  std::errc error{};
  uint32_t granted = 0;
  OptionalAttributes attributes;
};
struct ReadLinkReply {
  std::errc error{};
  std::string target;
  OptionalAttributes attributes;
};
struct ReadReply {
  std::errc error{};
  size_t count_bytes = 0;
  bool eof = false;
  OptionalAttributes attributes;
};
struct WriteReply {
  std::errc error{};
  size_t count_bytes = 0;
  WeakCacheConsistency file;
};
// CREATE, MKDIR, SYMLINK. A server may leave out the handle: look the name up then.
struct CreateReply {
  std::errc error{};
  std::optional<FileHandle> handle;
  OptionalAttributes attributes;
  WeakCacheConsistency directory;
};
struct RemoveReply {
  std::errc error{};
  WeakCacheConsistency directory;
};
struct RenameReply {
  std::errc error{};
  WeakCacheConsistency from_directory;
  WeakCacheConsistency to_directory;
};
struct LinkReply {
  std::errc error{};
  OptionalAttributes attributes;
  WeakCacheConsistency directory;
};
struct SetAttributesReply {
  std::errc error{};
  WeakCacheConsistency file;
};
struct DirectoryEntry {
  std::string name;
  uint64_t fileid = 0;
  uint64_t cookie = 0;
  OptionalAttributes attributes;
  std::optional<FileHandle> handle;
};
struct ReadDirReply {
  std::errc error{};
  std::vector<DirectoryEntry> entries;
  uint64_t verifier = 0;
  bool eof = false;
  OptionalAttributes directory;
};
// FSINFO and PATHCONF, or the attributes of version 4, clamped to what the transport can carry.
struct ServerLimits {
  uint32_t read_bytes_max = 0;
  uint32_t write_bytes_max = 0;
  uint32_t readdir_bytes_max = 0;
  uint32_t name_bytes_max = 255;
  bool case_insensitive = false;
};
struct RootReply {
  std::errc error{};
  FileHandle handle;
  Attributes attributes;
  ServerLimits limits;
};

// Fields that are absent stay as they are. A time of nullopt inside SetTime means "the server's
// now".
struct SetTime {
  std::optional<Time> time = {};
};
struct SetAttributes {
  std::optional<uint32_t> mode = {};
  std::optional<uint32_t> uid = {};
  std::optional<uint32_t> gid = {};
  std::optional<uint64_t> size_bytes = {};
  std::optional<SetTime> atime = {};
  std::optional<SetTime> mtime = {};
};

enum class CreateMode { kUnchecked, kGuarded };

// A position in a directory: {0, 0} is the beginning.
struct ReadDirPosition {
  uint64_t cookie = 0;
  uint64_t verifier = 0;
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  // The handle and attributes of the export's root, and what the server can take (sent once, at
  // mount).
  virtual RootReply GetRoot(const Credential& credential) = 0;

  virtual AttributesReply GetAttributes(const FileHandle& file, const Credential& credential) = 0;
  virtual LookupReply Lookup(const FileHandle& directory, std::string_view name,
                             const Credential& credential) = 0;
  // Resolves several names from `directory` on, one after the other (".." leads back up), in as few
  // round trips as the server allows, and asks for every bit in kAccessAll on the way. Stops as
  // single lookups would: at a name that is not there, may not be searched for, or is no directory
  // though more names follow (not_a_directory, too_many_symbolic_link_levels for a link). The steps
  // up to there are good. Only where can_lookup_paths().
  virtual LookupPathReply LookupPath(const FileHandle&, std::span<const std::string_view>,
                                     const Credential&) {
    return {std::errc::operation_not_supported, false, {}, {}, {}};
  }
  virtual bool can_lookup_paths() const { return false; }
  // Asks for every bit in kAccessAll at once.
  virtual AccessReply Access(const FileHandle& file, const Credential& credential) = 0;
  virtual ReadLinkReply ReadLink(const FileHandle& link, const Credential& credential) = 0;
  // Tells the server that `file`, which is `name` in `directory`, is open from now on. kStale if
  // the name leads elsewhere by now. A server of version 3 is not told.
  virtual OpenReply Open(const FileHandle& /*directory*/, std::string_view /*name*/,
                         const FileHandle& /*file*/, bool /*read*/, bool /*write*/,
                         const Credential&) {
    return {};
  }
  virtual bool opens_by_name() const { return false; }
  // `state`: of an Open() of this file by this Protocol, or null.
  virtual ReadReply Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                         const OpenState* state, const Credential& credential) = 0;
  // FILE_SYNC: the data is on stable storage when this returns.
  virtual WriteReply Write(const FileHandle& file, uint64_t offset_bytes,
                           std::span<const std::byte> data, const OpenState* state,
                           const Credential& credential) = 0;
  // One chunk. READDIRPLUS where `plus`, else READDIR (no attributes, no handles).
  virtual ReadDirReply ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                               const Credential& credential) = 0;

  // Not idempotent. A call whose connection died is not sent twice blindly: its outcome is looked
  // up first (WIRE-2), so `error` is what happened, as far as the server lets us know.
  virtual CreateReply Create(const FileHandle& directory, std::string_view name, CreateMode how,
                             const SetAttributes& attributes, const Credential& credential) = 0;
  virtual CreateReply MakeDirectory(const FileHandle& directory, std::string_view name,
                                    const SetAttributes& attributes,
                                    const Credential& credential) = 0;
  virtual CreateReply MakeSymlink(const FileHandle& directory, std::string_view name,
                                  std::string_view target, const SetAttributes& attributes,
                                  const Credential& credential) = 0;
  virtual LinkReply Link(const FileHandle& file, const FileHandle& directory, std::string_view name,
                         const Credential& credential) = 0;
  virtual RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                             const FileHandle& to_directory, std::string_view to_name,
                             const Credential& credential) = 0;
  virtual RemoveReply Remove(const FileHandle& directory, std::string_view name,
                             const Credential& credential) = 0;
  virtual RemoveReply RemoveDirectory(const FileHandle& directory, std::string_view name,
                                      const Credential& credential) = 0;
  virtual SetAttributesReply SetAttributesOf(const FileHandle& file,
                                             const SetAttributes& attributes,
                                             const Credential& credential) = 0;

  // RPCs sent so far, retransmissions included. Relaxed; only the difference over a quiet period
  // counts.
  virtual uint64_t rpcs_sent() const = 0;

  // Fails every call in flight and to come with errc::operation_canceled. For unmount.
  virtual void Shutdown() = 0;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_PROTOCOL_H_
