// client: the C++ API: mounts an NFS export and resolves paths in it from caches read under RCU.
//
//   auto options = nfswalk::ParseMountUrl("nfs://server/export?actimeo=60");
//   if (!options) return Fail(options.error());  // names the part of the URL that is wrong
//   auto client = nfswalk::Client::Mount(*options);
//   if (!client) return Fail(client.error().message);
//   const auto who = nfswalk::Credential::OfProcess();
//   auto attributes = (*client)->Stat("usr/include/stdio.h", who);
//   if (!attributes) return static_cast<int>(attributes.error());  // an errno, as stat(2) gives
//
// Cost of a call by one thread, a path of 8 names (docs/results.md has the tables):
//
//   Stat, Access, ReadLink, answered from the caches under RCU       135 ns
//     takes no lock, allocates nothing, stores to no shared memory
//   changes, listings, opens that ask the server, and what is not    round trips to the server
//     cached
//     version 4 resolves all missing names of a path in one
//
// Thread safety: any number of threads may be in any calls of one Client at once. Destroy its
// Nodes, Files and Directories before it, and it when no call is inside; Shutdown() makes those
// that wait return.
//
// fork(2): in the child of a process that has mounted, calls end in operation_canceled (ECANCELED),
// Mount() too, DropCaches() and InvalidateCaches() do nothing, and destructors return at once: they
// touch neither the threads that the child does not have nor the server, and the caches' memory is
// the child's until exec(2) or its end. The parent is not affected.
//
// Blocking: a call that needs the server waits as long as hard/soft, timeo and retrans of the mount
// allow: with soft, that is one limit for all that the call waits for; for each part of a listing,
// and for each piece of a transfer. A Deadline bounds the calls of a thread, hard mounts too; a
// Cancellation lets another thread end them.
//
// Paths: bytes, at most 4095, separated by '/'; absolute or not, they begin at the export's root.
// Symbolic links resolve as path_resolution(7) has it (WALK-30), absolute ones from that root.
//
// Errors: the errno of the system call of the same name (stat(2), access(2), openat2(2), ...);
// ESTALE is protocol::kStale. No exception leaves this API.
//
// Memory: without it a call ends in not_enough_memory (ENOMEM) with nothing half done: no change
// was sent, no reference is left, the same call succeeds later. An insertion into a cache that
// finds no memory is skipped and is no error; a walk that RCU-walk cannot finish without memory
// continues in ref-walk. DropCaches(), InvalidateCaches() and destructors allocate nothing. A
// thread of liburcu that finds no memory ends the process.
#ifndef NFSWALK_NFSCLIENT_CLIENT_H_
#define NFSWALK_NFSCLIENT_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "access_cache/access_rights.h"
#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/transport_stats.h"
#include "nfsclient/protocol/types.h"
#include "nfsclient/superblock/invalidations.h"
#include "nfsclient/superblock/mount_options.h"
#include "nfsclient/superblock/node_id.h"
#include "nfsclient/superblock/stats.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk {

using nfs::AccessHits;
using nfs::Invalidation;
using nfs::InvalidReason;
using nfs::kNeedRefCount;
using nfs::kPathCallCount;
using nfs::LimitSource;
using nfs::LimitSourceName;
using nfs::LookupCache;
using nfs::MountOptions;
using nfs::NeedRef;
using nfs::NeedRefName;
using nfs::NodeId;
using nfs::ParseMountUrl;
using nfs::ParseWalkMode;
using nfs::PathCall;
using nfs::PathCallName;
using nfs::Stats;
using nfs::WalkContract;
using nfs::WalkMode;
using nfs::WalkModeName;
using protocol::Attributes;
using protocol::Cancellation;
using protocol::CancelScope;
using protocol::Content;
using protocol::Deadline;
using protocol::Device;
using protocol::DirectoryEntry;
using protocol::FileSystemSpace;
using protocol::FileType;
using protocol::kOk;
using protocol::LockType;
using protocol::SetAttributes;
using protocol::TransportStats;
using protocol::XattrMode;
using sunrpc_auth::Credential;

template <typename T>
using Result = std::expected<T, std::errc>;

// openat2(2) RESOLVE_*, plus AT_SYMLINK_NOFOLLOW.
struct ResolveFlags {
  bool no_follow = false;    // a symbolic link as last component is itself the result
  bool no_symlinks = false;  // ELOOP if any link would have to be followed
  bool beneath = false;      // EXDEV for absolute paths, absolute links and `..` at the start
  bool in_root = false;      // as after chroot(2): those stay inside the start
  bool cached = false;       // EAGAIN (errc::resource_unavailable_try_again) instead of an RPC
  bool strict = false;       // linearizable, even where the mount is not
  bool dont_cache = false;  // for scans: does not keep a file that this call brings into the caches
  // Open() of "" is by a name that leads to the node on the server; ESTALE where none is known.
  bool as_named = false;
};

// Bits of access(2).
inline constexpr uint32_t kMayExecute = access_cache::kMayExec;
inline constexpr uint32_t kMayWrite = access_cache::kMayWrite;
inline constexpr uint32_t kMayRead = access_cache::kMayRead;
// O_TRUNC of Open() and CreateAndOpen(), beside kMayWrite.
inline constexpr uint32_t kTruncate = 8;
inline constexpr uint32_t kModeAtOnce = 16;  // of CreateAndOpen()

// OFFSET_MAX of the kernel: no byte of a file lies behind it.
inline constexpr uint64_t kFileBytesMax = INT64_MAX;

struct MountError {
  std::errc error{};
  std::string message;  // what failed, where, and what to do
};

namespace nfs {
struct OpenContext;
struct SendStamp;
class Superblock;
}  // namespace nfs
namespace protocol {
class Protocol;
}
namespace vfs {
class DentryRef;
}
namespace walk {
class RefWalk;
}

// The conflicting lock of F_GETLK.
struct LockConflict {
  LockType type = LockType::kRead;
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;  // 0: to the end of the file
  // Who has it, if that is an owner of this Client.
  std::optional<uint64_t> owner = {};
  friend bool operator==(const LockConflict&, const LockConflict&) = default;
};

// An open file: the server's open state and the file's handle. Must not outlive its Client.
//
// Written data is kept until it is on the server's stable storage, at the latest by Sync() or
// Close(), within limits for the mount, and sent again if the server restarts. All of the Client
// see it at once, other clients when the file is closed (close-to-open). An error of the server
// about it is reported once to each open file, by the next PWrite, Append, Sync or Close; that data
// is lost, as fsync(2) has it.
//
// Thread safety: all calls at once from any number of threads.
class File final {
 public:
  ~File();
  // Closes first. The memory is freed with the last reference to the state in it.
  static void operator delete(File* file, std::destroying_delete_t);
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // PRead and PWrite: invalid_argument if the offset, or the end, is above kFileBytesMax.
  // Reads until `into` is full or the file ends; bad_file_descriptor without kMayRead. A sequential
  // reader is read ahead of, up to 4 MiB; what another client writes may be missing for acregmin.
  [[nodiscard]] Result<size_t> PRead(std::span<std::byte> into, uint64_t offset_bytes);
  // Copies `data`, and waits only where too much is in flight, where other calls write, change
  // or sync the same file, and with `sync` until it is on stable storage;
  // bad_file_descriptor without kMayWrite. Less if memory, or a Deadline's time, ended.
  [[nodiscard]] Result<size_t> PWrite(std::span<const std::byte> data, uint64_t offset_bytes);
  // PWrite() at the end of the file, which the server is asked for (O_APPEND). What this Client
  // appends does not overlap; another client may write there in between, as NFS has no append.
  // file_too_large where the end, invalid_argument where the length would be above kFileBytesMax.
  [[nodiscard]] Result<size_t> Append(std::span<const std::byte> data);
  // fsync(2), of all that this Client has written to the file. timed_out (a Deadline) and
  // not_enough_memory lose nothing: call again.
  [[nodiscard]] std::errc Sync();
  // close(2) of one of several descriptors: Sync(), whose error the others are told, too.
  [[nodiscard]] std::errc Flush();
  // close(2): Sync(). Only the destructor may follow, which does the same but cannot report.
  [[nodiscard]] std::errc Close();
  // The first half of the destructor, for a close without a caller that waits (FUSE's
  // RELEASE): sends nothing. From now on the file does not count as open, so that a removal of its
  // name does not hide it (Node::Unlink()), unless data of it is yet to be written. Only the
  // destructor may follow.
  void BeginClose();
  // fchmod(2), fchown(2), futimens(3) and ftruncate(2), which is invalid_argument without kMayWrite
  // and for a size above kFileBytesMax.
  [[nodiscard]] Result<Attributes> SetAttributesOf(const SetAttributes& attributes);
  // For callers with a page cache (FUSE's keep_cache): whether no change by another client was
  // noticed from an earlier open of the file in this Client until this one, which asks the server
  // (close-to-open; not with nocto). False where that is unknown, as after an eviction.
  bool is_unchanged() const;
  // fcntl(2): advisory locks of `length_bytes` bytes, 0: to the end of the file, wherever that is.
  // `owner` is the lock owner (fl_owner), as a process; it may use several Files of one file, and
  // closing one that it has locked by unlocks all that it has there. With version 3 they hold among
  // the Files of this Client only (nolock), with version 4 on the server, across its restarts. A
  // lock that the server has dropped (the lease ended) makes reads, writes and locks by the File
  // that took it fail with io_error, until its owner has unlocked all.
  // Lock() makes visible what others wrote before they unlocked. Its data is on stable storage when
  // Unlock() returns. Errors: bad_file_descriptor without kMayRead for kRead, kMayWrite for kWrite;
  // invalid_argument if the offset is above kFileBytesMax, value_too_large if the end is.
  //
  // Waits for other owners (F_SETLKW); resource_deadlock_would_occur where one of this Client waits
  // for this one. For those of other clients the server is asked again after 0.1 to 5 seconds.
  [[nodiscard]] std::errc Lock(uint64_t owner, LockType type, uint64_t offset_bytes,
                               uint64_t length_bytes);
  // Lock() without waiting (F_SETLK): resource_unavailable_try_again.
  [[nodiscard]] std::errc TryLock(uint64_t owner, LockType type, uint64_t offset_bytes,
                                  uint64_t length_bytes);
  [[nodiscard]] std::errc Unlock(uint64_t owner, uint64_t offset_bytes, uint64_t length_bytes);
  // Unlocks all that `owner` has of the file, by whichever File, where it closes a descriptor.
  void ReleaseLocks(uint64_t owner);
  // F_GETLK: one of the locks that keep TryLock() from it, nullopt if none does.
  [[nodiscard]] Result<std::optional<LockConflict>> TestLock(uint64_t owner, LockType type,
                                                             uint64_t offset_bytes,
                                                             uint64_t length_bytes) const;
  // fallocate(2): space for a range, with which the file may grow; a hole in it, which leaves the
  // size (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE). Of version 4.2: operation_not_supported
  // elsewhere, and where the server's file system has it not. After timed_out, operation_canceled
  // and not_enough_memory it may still be done, on a hard mount before all that is written later.
  [[nodiscard]] std::errc Allocate(uint64_t offset_bytes, uint64_t size_bytes);
  [[nodiscard]] std::errc PunchHole(uint64_t offset_bytes, uint64_t size_bytes);
  // copy_file_range(2) inside the server, which sends none of it: a part of `source` to an offset
  // of this file. Returns how much was copied, onto the server's stable storage: less than was
  // asked for if that is more than 16 MiB, or the server stops; 0 at the end of `source`. Of
  // version 4.2: operation_not_supported elsewhere, and where the server cannot or by this
  // credential may not: read and write then. cross_device_link: of different Clients.
  // invalid_argument: onto what is copied, or an offset above kFileBytesMax. bad_file_descriptor
  // without kMayWrite, or kMayRead of `source`. Else as Allocate().
  [[nodiscard]] Result<uint64_t> CopyFrom(const File& source, uint64_t source_offset_bytes,
                                          uint64_t offset_bytes, uint64_t size_bytes);
  // lseek(2) with SEEK_DATA or SEEK_HOLE: the first data, or hole, from an offset on;
  // no_such_device_or_address (ENXIO) where there is none. Before version 4.2 all is data.
  [[nodiscard]] Result<uint64_t> Seek(uint64_t offset_bytes, Content content) const;
  // As those of Node, by the credential that opened the file.
  [[nodiscard]] Result<std::string> GetXattr(std::string_view name) const;
  [[nodiscard]] Result<std::vector<std::string>> ListXattrs() const;
  [[nodiscard]] std::errc SetXattr(std::string_view name, std::string_view value, XattrMode how);
  // As of the last reply about the file, with the size of what was written; all 0 after fork(2).
  Attributes attributes() const;
  // attributes(), if the cached size is valid; the times may be older than what was written.
  std::optional<Attributes> cached_attributes() const;

 private:
  friend class Node;
  struct State;

  // Throws std::bad_alloc.
  static std::unique_ptr<File> Make(nfs::OpenContext context, nfs::Superblock& superblock,
                                    uint32_t rights);
  explicit File(std::shared_ptr<State> state);
  std::errc CheckWrite(uint64_t offset_bytes, size_t size_bytes) const;
  std::errc ChangeSpace(const protocol::Allocation& allocation);
  std::errc SetLock(uint64_t owner, LockType type, uint64_t offset_bytes, uint64_t length_bytes,
                    bool wait);
  void ReleaseLocks();

  std::shared_ptr<State> state_;
};

class Node;

// The file of a name, for callers with caches of their own (FUSE's entry and attribute timeouts).
struct LookupResult {
  std::unique_ptr<Node> node;  // null: the name does not exist (a negative dentry), or no longer
  Attributes attributes = {};  // of the node
  // For how long this Client would answer the same without the server, in nanoseconds, unless it
  // learns of a change before; 0: not at all. `name_valid_ns` also if the name does not exist.
  uint64_t attributes_valid_ns = 0;
  uint64_t name_valid_ns = 0;
};

// A file that CreateAndOpen() opened, and where its name leads.
struct OpenResult {
  std::unique_ptr<File> file;
  LookupResult found;
};

// An open directory (opendir(3)): a listing that goes on after any entry it has shown. Keeps the
// last reply of the server, so that small steps cost no RPC. Must not outlive its Client. Thread
// safety: all calls at once from any number of threads; they take turns.
class Directory final {
 public:
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // Calls `visit` for each entry but "." and ".." after the one with this `cookie`
  // (DirectoryEntry::cookie), 0: from the beginning, asked for anew, as rewinddir(3); until it
  // returns false. A directory that changes meanwhile shows each entry that stays once. `visit` may
  // make any call but Read() of this Directory. Errors: as Node::ReadDir().
  [[nodiscard]] std::errc Read(uint64_t cookie,
                               const std::function<bool(const DirectoryEntry&)>& visit);
  // Node::Lookup() in the directory, also after a rename of it, by the credential that opened it.
  [[nodiscard]] Result<LookupResult> Lookup(std::string_view name, ResolveFlags flags = {}) const;
  // Lookup() of an entry just shown, without an RPC: if the name needs the server, what the listing
  // said, valid for no time. resource_unavailable_try_again if it said nothing (rdirplus).
  [[nodiscard]] Result<LookupResult> LookupListed(const DirectoryEntry& entry) const;
  // As File::is_unchanged(), of the entries: no change was noticed, one by this Client included.
  bool is_unchanged() const;

 private:
  friend class Node;
  struct State;

  explicit Directory(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// A resolved file, directory or symbolic link: a reference, as a descriptor opened with O_PATH.
// All nodes of one file have the same id(), whatever name they were resolved by.
// Follows the file through renames; DropCaches() does not drop it. Once the server has removed the
// file, calls end in ESTALE as soon as the attribute caches notice. Must not outlive its Client.
//
// Paths: "" is the node itself (AT_EMPTY_PATH; also a link that no_follow resolved). Others begin
// at the node, which must be a directory (ENOTDIR), or with '/' at the export's root. `..` and
// absolute links lead out of the node, up to the export's root, as from a working directory.
// `beneath` answers EXDEV for them and for absolute paths; `in_root` makes the node the root where
// absolute paths and links begin and `..` ends. If a rename moves a directory out of the node while
// such a walk is in it, `..` ends in EAGAIN, as openat2(2) has it.
//
// The path cache serves walks from the export's root only (`path_hits` of Stats). Thread safety:
// all calls at once from any number of threads; destroy it when none is inside.
class Node {
 public:
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] Result<Attributes> Stat(std::string_view path, const Credential& credential,
                                        ResolveFlags flags = {}) const;
  // `rights`: kMay* bits; 0 asks for existence only. errc{}, or permission_denied among others.
  [[nodiscard]] std::errc Access(std::string_view path, uint32_t rights,
                                 const Credential& credential, ResolveFlags flags = {}) const;
  // readlink(2): copies at most into.size() bytes, without a NUL; returns their number.
  [[nodiscard]] Result<size_t> ReadLink(std::string_view path, std::span<char> into,
                                        const Credential& credential,
                                        ResolveFlags flags = {}) const;
  // statfs(2): of the file system that the path leads into.
  [[nodiscard]] Result<FileSystemSpace> GetSpace(
      std::string_view path, const Credential& credential, ResolveFlags flags = {}) const;
  // Extended attributes (xattr(7), RFC 8276): names that begin with "user.", values of up to 64
  // KiB. They are not cached. Of version 4.2: operation_not_supported elsewhere, where the server's
  // file system has none, and for other names. no_message_available (ENODATA): there is none.
  // SetXattr(): file_exists with kCreate, ENODATA with kReplace.
  // "system.nfs4_acl" is the ACL, of all of version 4: nfsace4<> in XDR (RFC 8881 6.2.1), as
  // nfs4_acl(5) and the kernel's client have it. Whatever XattrMode says, it is replaced;
  // invalid_argument: it is none, or is to be removed. "system.posix_acl_access" and
  // "system.posix_acl_default" are those of version 3 (linux/posix_acl_xattr.h).
  [[nodiscard]] Result<std::string> GetXattr(std::string_view path, std::string_view name,
                                             const Credential& credential,
                                             ResolveFlags flags = {}) const;
  [[nodiscard]] Result<std::vector<std::string>> ListXattrs(std::string_view path,
                                                            const Credential& credential,
                                                            ResolveFlags flags = {}) const;
  [[nodiscard]] std::errc SetXattr(std::string_view path, std::string_view name,
                                   std::string_view value, XattrMode how,
                                   const Credential& credential, ResolveFlags flags = {}) const;
  [[nodiscard]] std::errc RemoveXattr(std::string_view path, std::string_view name,
                                      const Credential& credential, ResolveFlags flags = {}) const;
  // Calls `visit` for each entry but "." and ".." until it returns false. Entries have attributes
  // and handles where the server sent them. After an error some entries may have been visited;
  // ESTALE: the directory was removed meanwhile; ELOOP: the server's listing does not end.
  [[nodiscard]] std::errc ReadDir(std::string_view path, const Credential& credential,
                                  const std::function<bool(const DirectoryEntry&)>& visit,
                                  ResolveFlags flags = {}) const;
  // Asks the server (close-to-open; not with nocto): by the listing's first reply, which Read()
  // serves, or, where the caller may have all of an earlier one (is_unchanged()), by GETATTR.
  [[nodiscard]] Result<std::unique_ptr<Directory>> OpenDirectory(
      std::string_view path, const Credential& credential, ResolveFlags flags = {},
      bool has_listing = false) const;
  // `rights`: kMayRead, kMayWrite or both, and kTruncate with kMayWrite; else invalid_argument.
  // Close-to-open unless nocto. Version 4 opens by name (RFC 7530 16.16), and "" by handle from 4.1
  // on; in 4.0 by any name known of the file, ESTALE if the server has none of them.
  [[nodiscard]] Result<std::unique_ptr<File>> Open(std::string_view path, uint32_t rights,
                                                   const Credential& credential,
                                                   ResolveFlags flags = {}) const;
  // Needs no right to the file itself, as open(2) with O_PATH.
  [[nodiscard]] Result<std::unique_ptr<Node>> Resolve(
      std::string_view path, const Credential& credential, ResolveFlags flags = {}) const;
  // Resolve() and Stat() in one, and how long both hold; with no_follow. That the last name does
  // not exist is no error; that one before it does not is. `name_valid_ns` is 0 for a path that
  // does not end with a name ("", ".", "..", or a trailing slash). Answered under RCU if cached.
  [[nodiscard]] Result<LookupResult> Lookup(std::string_view path, const Credential& credential,
                                            ResolveFlags flags = {}) const;
  // These send nothing; {}, false and all 0 in the child of a fork(2).
  NodeId id() const;
  bool is_stale() const;          // ESTALE for good: a lookup may give another node of this id()
  Attributes attributes() const;  // as of the last reply about the file, however old
  // Whether a Lookup() of a name in this directory would take where it leads from the caches.
  bool IsNameValid(std::string_view name) const;
  // Whether it leads, as far as the caches know, to a file that is open in this Client, or to a
  // directory with the hidden name of a file (Unlink()).
  bool LeadsToOpenFile(std::string_view name) const;

  // Batches: Stat() and Resolve() of each of `paths`, results[i] being that of paths[i]; as many.
  // The caches answer what they know at once; what many paths miss is asked for together, with
  // version 3 in calls in flight at the same time, with version 4 in shared COMPOUNDs, in no more
  // calls than one by one. On a mount that does not keep all (noac, lookupcache=pos or none,
  // walk=ref) they are answered one by one. The time of a soft mount's call is that of 2,048 paths.
  void StatEach(std::span<const std::string_view> paths, const Credential& credential,
                std::span<Result<Attributes>> results, ResolveFlags flags = {}) const;
  void ResolveEach(std::span<const std::string_view> paths, const Credential& credential,
                   std::span<Result<std::unique_ptr<Node>>> results, ResolveFlags flags = {}) const;
  // Open(), PRead() at 0 and the end of each: results[i] is how much of the file was stored in
  // into[i], less than all of that only at its end. A file of no more than rsize bytes costs one
  // READ, 64 of them in flight at the same time; version 4 sends no OPEN but the anonymous state id
  // (RFC 7530 9.1.4.3), and opens what the server refuses to read so.
  void ReadEach(std::span<const std::string_view> paths, std::span<const std::span<std::byte>> into,
                const Credential& credential, std::span<Result<size_t>> results,
                ResolveFlags flags = {}) const;

  // Changes. `mode`: permission bits. Each updates the caches with the reply's weak cache
  // consistency data, so that our own changes do not invalidate the directory's other names. ENOENT
  // for "", except as `existing` and of SetAttributesOf(). `exclusive` false: an existing file is
  // the result (O_CREAT without O_EXCL).
  [[nodiscard]] Result<LookupResult> Create(std::string_view path, uint32_t mode, bool exclusive,
                                            const Credential& credential) const;
  // Create() and Open() in one: open(2) with O_CREAT, or O_CREAT and O_EXCL. `rights`: kMayRead,
  // kMayWrite or both, which a new file has whatever its `mode` says; and kTruncate, which leaves
  // one that exists empty. Before version 4.1 SETATTR sets the mode of an `exclusive` one; with
  // kModeAtOnce the call that makes it, so that a default ACL counts, and file_exists may be of a
  // call sent again.
  [[nodiscard]] Result<OpenResult> CreateAndOpen(std::string_view path, uint32_t rights,
                                                 uint32_t mode, bool exclusive,
                                                 const Credential& credential,
                                                 ResolveFlags flags = {}) const;
  [[nodiscard]] Result<LookupResult> MakeDirectory(std::string_view path, uint32_t mode,
                                                   const Credential& credential) const;
  [[nodiscard]] Result<LookupResult> MakeSymlink(std::string_view target, std::string_view path,
                                                 const Credential& credential) const;
  // mknod(2): a fifo, a socket or a device; invalid_argument for any other type, and where the
  // server has no such files. `device`: of a device only.
  [[nodiscard]] Result<LookupResult> MakeNode(std::string_view path, FileType type, uint32_t mode,
                                              Device device, const Credential& credential) const;
  // `existing`: from this node; a symbolic link is not followed. `path` begins at `to`;
  // cross_device_link if that is another Client's.
  [[nodiscard]] std::errc Link(std::string_view existing, const Node& to, std::string_view path,
                               const Credential& credential) const;
  // In the same way. `flags`: RENAME_* of renameat2(2); invalid_argument for any, as NFS has none.
  [[nodiscard]] std::errc Rename(std::string_view from, const Node& to_node, std::string_view to,
                                 const Credential& credential, uint32_t flags = 0) const;
  // If the last name of a file that is open in this Client is removed, here or by Rename(), the
  // server keeps it under a hidden name, ".nfs" and a number, which no call of this Client shows,
  // until the last File of it is destroyed (silly rename, as the kernel's client). Until then its
  // directory is not empty, and `nlink` counts the hidden name. Other clients see it; it stays
  // where this process ends before.
  [[nodiscard]] std::errc Unlink(std::string_view path, const Credential& credential,
                                 ResolveFlags flags = {}) const;
  [[nodiscard]] std::errc RemoveDirectory(std::string_view path, const Credential& credential,
                                          ResolveFlags flags = {}) const;
  // invalid_argument for a size above kFileBytesMax.
  [[nodiscard]] Result<Attributes> SetAttributesOf(std::string_view path,
                                                   const SetAttributes& attributes,
                                                   const Credential& credential,
                                                   ResolveFlags flags = {}) const;

 private:
  friend class Client;
  friend class Directory;

  static Result<LookupResult> LookupFrom(nfs::Superblock& superblock, const vfs::DentryRef* node,
                                         std::string_view path, const Credential& credential,
                                         ResolveFlags flags);
  static Result<std::unique_ptr<File>> OpenFound(nfs::Superblock& superblock, walk::RefWalk& walk,
                                                 uint32_t rights, bool creates,
                                                 const nfs::SendStamp* begun, bool as_named);
  // Open(), as part of a call that has `begun` before (may be null).
  Result<std::unique_ptr<File>> OpenSince(const nfs::SendStamp* begun, std::string_view path,
                                          uint32_t rights, const Credential& credential,
                                          ResolveFlags flags) const;
  static Result<OpenResult> OpenCreated(nfs::Superblock& superblock, walk::RefWalk& walk,
                                        uint32_t rights, uint32_t mode, bool exclusive);
  static LookupResult FoundAt(nfs::Superblock& superblock, const vfs::DentryRef& directory,
                              std::string_view name, const vfs::DentryRef& at);
  static Result<LookupResult> FoundCreated(nfs::Superblock& superblock, walk::RefWalk& walk,
                                           const Result<Attributes>& created);

  // `at` null: the export's root, for which "" is ENOENT and `in_root` changes nothing.
  Node(nfs::Superblock& superblock, std::unique_ptr<const vfs::DentryRef> at);

  nfs::Superblock& superblock_;
  std::unique_ptr<const vfs::DentryRef> at_;
};

// A mount: the node of the export's root, for whose calls "" is ENOENT, and the caches. Is
// destroyed as a Client, never by a pointer to its Node.
class Client final : public Node {
 public:
  // Contacts the server. Bounded by TransportOptions::mount_timeout_ms.
  static std::expected<std::unique_ptr<Client>, MountError> Mount(const MountOptions& options);
  // Mounts over a Protocol of the caller's (fault injection).
  static std::expected<std::unique_ptr<Client>, MountError> MountOver(
      std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Take both paths from the export's root.
  using Node::Link;
  [[nodiscard]] std::errc Link(std::string_view existing, std::string_view path,
                               const Credential& credential) const {
    return Link(existing, *this, path, credential);
  }
  using Node::Rename;
  [[nodiscard]] std::errc Rename(std::string_view from, std::string_view to,
                                 const Credential& credential, uint32_t flags = 0) const {
    return Rename(from, *this, to, credential, flags);
  }

  // syncfs(2): also of files whose Close() was interrupted. Returns an error that no File was told.
  [[nodiscard]] std::errc Sync();
  // The server as it was mounted: with the version that was agreed on.
  const protocol::ServerAddress& server() const;
  // Whether the file system of the export's root has ACLs ("system.nfs4_acl").
  bool has_acls() const;
  // Stops using the server, for good: calls that wait for it, on a hard mount too, and all later
  // ones, also of Files and Nodes, end in operation_canceled (ECANCELED), whatever is cached. A
  // call in progress that needs no server may still succeed. A change in progress may or may not
  // have been made. DropCaches(), InvalidateCaches() and stats() keep working. Waits for the server
  // only to remove hidden names (see Unlink()), one second at most; the rest stays. Idempotent.
  void Shutdown();

  void DropCaches();  // every dentry, inode and access right that is not in use
  // Keeps all, and asks the server before the next use of each: another client has changed it.
  void InvalidateCaches();

  // For callers with caches of their own: calls `listener` for each node or name of which this
  // Client learns that another client has changed it, or that the server has forgotten it; also for
  // own changes whose reply does not prove that nothing else changed. Not for what merely times out
  // (LookupResult) or is evicted. A directory that changed may have any name of it changed; each
  // name found to lead elsewhere is told, too. What a call finds out is queued before it returns. A
  // thread of its own calls the listener, one event at a time, in order, with no lock held; it may
  // make any call but this one. One kEverything replaces more than `queue_max` events that wait.
  // Replaces the listener before, which is not called any more on return; an empty one: none.
  // Errors: invalid_argument for a `queue_max` of 0; not_enough_memory;
  // resource_unavailable_try_again without a thread; resource_deadlock_would_occur from itself.
  [[nodiscard]] std::errc OnInvalidation(std::function<void(const Invalidation&)> listener,
                                         size_t queue_max = 4096);
  uint64_t invalidations_queued() const;  // so many events so far
  bool HasQueued(const Node& node) const;  // an event of it, or of everything, not yet delivered
  // Waits until the listener has returned from all events that are queued: not for itself.
  void AwaitInvalidations();
  // Queues an event of the caller's own: what it drops is dropped in order with the rest.
  void Invalidate(InvalidReason reason, const Node& node);

  Stats stats() const;
  TransportStats transport_stats() const;  // of the connection; waits for no call

 private:
  friend struct ClientInternals;  // for tests

  explicit Client(std::unique_ptr<nfs::Superblock> superblock);

  struct Unmount {
    void operator()(nfs::Superblock* superblock) const;
  };

  const std::unique_ptr<nfs::Superblock, Unmount> mounted_;
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_CLIENT_H_
