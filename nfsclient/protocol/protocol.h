// protocol: the interface to an NFS server. Implemented by NFSv3 (nfs3.h) and NFSv4 (nfs4.h),
// decorated by tests.
//
// A call, or the Finish() of one that Start...() has sent, blocks until the server replied, the
// deadline of a soft mount or of the thread (call_deadline.h) passed (errc::timed_out), or the
// thread's calls were canceled (cancellation.h) or Shutdown() was called
// (errc::operation_canceled). A reply with an `error` carries only the post-operation attributes
// that the server sent with it. Errors are errno values: nfs3/status.h and nfs4/status.h map
// nfsstat3 (RFC 1813 2.6) and nfsstat4 (RFC 7530 13). NFS3ERR_JUKEBOX, NFS4ERR_DELAY and
// NFS4ERR_GRACE are retried here. A malformed reply is errc::io_error (EIO).
//
// Preconditions of all calls: the caller holds no spin lock and is in no RCU read section.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_PROTOCOL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_PROTOCOL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/file_names.h"
#include "nfsclient/protocol/transport_stats.h"
#include "nfsclient/protocol/types.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {

// All bits of ACCESS (RFC 1813 3.3.4); names in access_cache/access_rights.h.
inline constexpr uint32_t kAccessAll = 0x3f;

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
// One resolved name of a path.
struct PathStep {
  FileHandle handle;
  Attributes attributes;
  std::optional<uint32_t> granted = {};  // as in AccessReply
};
struct LookupPathReply {
  std::errc error{};  // errc{}: all names were resolved
  // The server answered the name after the last of `steps` with NFS4ERR_NOENT.
  bool name_is_missing = false;
  // Attributes of the directory in which the path begins.
  OptionalAttributes directory = {};
  std::optional<uint32_t> granted = {};
  std::vector<PathStep> steps = {};
};
// Adds what GETATTR has said of a file whose LOOKUP was answered without attributes. Only a
// directory can be in another file system than the directory that has it (ATTR-21).
inline void TakeAttributes(const Attributes& asked, LookupReply& found) {
  found.attributes = asked;
  if (asked.type == FileType::kDirectory || !found.directory) return;
  found.attributes->fsid = found.directory->fsid;
}
// Takes a LOOKUP's reply for that of a path of one name. Preconditions: attributes, or an error.
inline void TakeLookup(const LookupReply& found, LookupPathReply& reply) {
  reply.error = found.error;
  reply.directory = found.directory;
  reply.name_is_missing = found.error == std::errc::no_such_file_or_directory;
  if (found.error == std::errc{}) reply.steps.push_back({found.handle, *found.attributes});
}
// One of the questions of LookupBatch().
struct LookupQuestion {
  FileHandle file = {};
  // As in LookupPath(), of which only the first one counts unless can_lookup_paths(). None: what
  // GETATTR or, if `rights`, ACCESS answers about `file` itself.
  std::span<const std::string_view> names = {};
  bool rights = false;
};
// The server's state of an open file: a share reservation of version 4 (RFC 7530 9.9). The
// destructor sends CLOSE, which may block.
class OpenState {
 public:
  virtual ~OpenState() = default;
  // The names by which it is opened again where the server has lost it; until then, that which it
  // was opened by. Asked on other threads, until the destructor has returned.
  virtual void FollowNames(std::unique_ptr<FileNames>) {}
  // Whether a file may be opened by it once more: not with locks of another owner that are lost.
  virtual bool can_be_shared() const { return true; }
};
// A promise of the server (RFC 8881 10.4, 10.9): other clients neither open the file to write nor
// change it, nor the directory or its entries, until this is returned, or until
// Protocol::delegations_until_ns(). It outlives the open file that it came with. The attributes of
// the same reply are the first that it holds for. The destructor returns it, which may block.
class Delegation {
 public:
  virtual ~Delegation() = default;
  // Has `on_end` called, once, unless the destructor has begun before: nothing may be answered from
  // the delegation after that, and it is to be destroyed soon. On any thread, which may hold locks:
  // it neither waits nor calls the server, nor destroys this. False: it has ended already.
  // `was_used`, if not empty, is called about once in a lease time, under the same conditions,
  // until the same end: where it says no, the delegation ends. Empty: NoteUsed() tells.
  virtual bool Watch(std::function<void()> on_end, std::function<bool()> was_used) = 0;
  // Something was answered from it: one that is of no use for long is given back. Any context.
  virtual void NoteUsed() = 0;
};
// Whether an OPEN asks for a delegation, which costs a call more if it is of no use.
enum class AskDelegation : uint8_t {
  kNo,
  kIfFewAreUnused,
  kYes,
};
struct OpenReply {
  std::errc error{};
  std::unique_ptr<OpenState> state;  // null if the server keeps no state (version 3)
  OptionalAttributes attributes;
  // As in AccessReply, if the reply says so and `attributes`: these validate it.
  std::optional<uint32_t> granted = {};
  std::unique_ptr<Delegation> delegation = {};  // null: none
};
struct DelegateReply {
  std::errc error{};
  Attributes attributes = {};
  std::unique_ptr<Delegation> delegation = {};  // null: none
};
// LOCK, LOCKT.
struct LockReply {
  std::errc error{};  // resource_unavailable_try_again: another owner's lock is in the way
  std::optional<RangeLock> conflict = {};  // that lock, as far as the server says
};
struct AccessReply {
  std::errc error{};
  uint32_t granted = 0;
  OptionalAttributes attributes;
};
struct SpaceReply {
  std::errc error{};
  FileSystemSpace space;
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
// stable_how of RFC 1813, stable_how4 of RFC 7530.
enum class Stability : uint32_t { kUnstable = 0, kDataSync = 1, kFileSync = 2 };
struct UnstableWriteReply : WriteReply {
  Stability committed = Stability::kFileSync;
  uint64_t verifier = 0;  // of the server's instance, which may lose what is not committed
};
struct CommitReply {
  std::errc error{};
  uint64_t verifier = 0;
  WeakCacheConsistency file;
};
// A call that was sent, one of several in flight: waiting for it and calling are two things. Its
// destructor ends a call that Finish() has not: waits for the reply as long as the thread's
// CallDeadline allows, then gives the call up, which the server may still execute.
template <typename Reply>
class InFlight {
 public:
  virtual ~InFlight() = default;
  // Waits for the reply, with the retries and recoveries of Protocol::Read() and Write(), for as
  // long as the thread's CallDeadline and Cancellation allow. nullopt: the wait ended, the call
  // goes on, and the server may still execute it; Finish() may be called again, by any thread (one
  // at a time), until it has returned a reply. An error in a reply is final: nothing of the call is
  // in flight any more, i.e. it was answered, or was never sent, or the connection that carried it
  // was ended (timed_out of a soft mount; not_enough_memory), or the mount was shut down
  // (operation_canceled).
  virtual std::optional<Reply> Finish() = 0;
};
// One that had ended when it was started.
template <typename Reply>
class Ended final : public InFlight<Reply> {
 public:
  explicit Ended(Reply reply) : reply_(std::move(reply)) {}
  std::optional<Reply> Finish() override { return std::move(reply_); }

 private:
  Reply reply_;
};
using ReadInFlight = std::unique_ptr<InFlight<ReadReply>>;
using WriteInFlight = std::unique_ptr<InFlight<UnstableWriteReply>>;
using CommitInFlight = std::unique_ptr<InFlight<CommitReply>>;
// CREATE, MKDIR, SYMLINK, MKNOD. Without a handle the caller must look the name up.
struct CreateReply {
  std::errc error{};
  std::optional<FileHandle> handle;
  OptionalAttributes attributes;
  WeakCacheConsistency directory;
};
struct CreateOpenReply : CreateReply {
  std::unique_ptr<OpenState> state;  // as in OpenReply
};
// The object of a name before a call that removes or renames it, as the caches know it.
struct KnownObject {
  FileHandle handle = {};
  uint32_t nlink = 0;  // of a directory 1
  bool is_valid = false;  // NAME-1, or it led there lately
};
// REMOVE, RMDIR. `name_is_taken`: another client has given the name to another object since.
struct RemoveReply {
  std::errc error{};
  WeakCacheConsistency directory = {};
  bool name_is_taken = false;
};
// `name_is_taken`: the same of the old name.
struct RenameReply {
  std::errc error{};
  WeakCacheConsistency from_directory = {};
  WeakCacheConsistency to_directory = {};
  bool name_is_taken = false;
};
struct LinkReply {
  std::errc error{};
  OptionalAttributes attributes;
  WeakCacheConsistency directory;
};
struct FileChangeReply {
  std::errc error{};
  WeakCacheConsistency file;
  uint64_t copied_bytes = 0;  // of StartCopy()
};
struct SeekReply {
  std::errc error{};
  uint64_t offset_bytes = 0;
  bool is_end = false;  // of the file: of data, there is none
};
// The value of an extended attribute, or an ACL.
struct XattrReply {
  std::errc error{};
  std::string value;
};
struct XattrNamesReply {
  std::errc error{};
  std::vector<std::string> names;
};
using FileChangeInFlight = std::unique_ptr<InFlight<FileChangeReply>>;
struct ReadDirReply {
  std::errc error{};
  std::vector<DirectoryEntry> entries;
  uint64_t verifier = 0;
  bool eof = false;
  OptionalAttributes directory;
};
// FSINFO and PATHCONF, or the attributes of version 4, clamped to the limits of the transport.
struct ServerLimits {
  uint32_t read_bytes_max = 0;
  uint32_t write_bytes_max = 0;
  uint32_t readdir_bytes_max = 0;  // version 3: dtpref, which listings do not follow
  uint32_t name_bytes_max = 255;
  bool case_insensitive = false;
  bool has_acls = false;  // of version 4, on the file system of the root
};
struct RootReply {
  std::errc error{};
  FileHandle handle;
  Attributes attributes;
  ServerLimits limits;
};

enum class CreateMode {
  kUnchecked,
  // By a verifier, where the server has them: safe to repeat. The attributes are set by a call of
  // their own, whatever the server has made of them by a default ACL.
  kGuarded,
  // In one call, with the attributes. file_exists may be the outcome of a call that was repeated.
  kGuardedWithAttributes,
};

// Cookie and cookie verifier of READDIR; {0, 0}: the beginning.
struct ReadDirPosition {
  uint64_t cookie = 0;
  uint64_t verifier = 0;
};

// One of the questions of ReadDirBatch().
struct ListQuestion {
  FileHandle directory = {};
  ReadDirPosition position = {};
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  // When a call of the client that begins now must have ended: never on a hard mount; on a soft one
  // after the sum of its timeouts.
  virtual CallDeadline::Clock::time_point NewDeadline() const {
    return CallDeadline::Clock::time_point::max();
  }

  // Returns handle and attributes of the export's root and the server's limits. The last part of
  // mounting, within TransportOptions::mount_timeout_ms from its beginning, hard or soft.
  virtual RootReply GetRoot(const Credential& credential) = 0;

  virtual AttributesReply GetAttributes(const FileHandle& file, const Credential& credential) = 0;
  virtual LookupReply Lookup(const FileHandle& directory, std::string_view name,
                             const Credential& credential) = 0;
  // Resolves the names one after the other from `directory` on (".." is the parent) in as few round
  // trips as the server allows, and requests kAccessAll of each. Stops where single lookups would:
  // at a name that does not exist, a directory without search permission, or a file that is not a
  // directory but not the last (not_a_directory; too_many_symbolic_link_levels for a symbolic
  // link). The steps up to there are valid. Preconditions: can_lookup_paths().
  virtual LookupPathReply LookupPath(const FileHandle&, std::span<const std::string_view>,
                                     const Credential&) {
    return {std::errc::operation_not_supported, false, {}, {}, {}};
  }
  virtual bool can_lookup_paths() const { return false; }
  // Asks all of `questions`, which others may share a round trip or a call with, and stores the
  // replies in their order; never takes more RPCs than single calls. A step of a single LOOKUP has
  // its attributes. `replies` are as many, and empty.
  virtual void LookupBatch(std::span<const LookupQuestion> questions,
                              const Credential& credential, std::span<LookupPathReply> replies) {
    for (size_t i = 0; i < questions.size(); ++i)
      replies[i] = LookupAlone(questions[i], credential);
  }
  // Requests kAccessAll.
  virtual AccessReply Access(const FileHandle& file, const Credential& credential) = 0;
  // Space of the file system that `file` lies in.
  virtual SpaceReply GetSpace(const FileHandle& /*file*/, const Credential&) {
    return {std::errc::operation_not_supported, {}};
  }
  virtual ReadLinkReply ReadLink(const FileHandle& link, const Credential& credential) = 0;
  // Opens `file`, which is `name` in `directory`, or by itself without a name, where
  // can_open_by_handle(). Unless sends_open() nothing is sent, the server keeps no state, and
  // neither a name nor attributes are needed or returned. Errors:
  // kStale if the name leads to another file. `ask`: for a delegation for reading, which the
  // server may refuse.
  virtual OpenReply Open(const FileHandle& /*directory*/, std::string_view /*name*/,
                         const FileHandle& /*file*/, bool /*read*/, bool /*write*/,
                         const Credential&, AskDelegation /*ask*/ = AskDelegation::kNo) {
    return {};
  }
  // GetAttributes() of a directory, and a delegation of it if the server grants one: as far as is
  // known it may where this is true.
  virtual bool delegates_directories() const { return false; }
  virtual DelegateReply Delegate(const FileHandle& directory, const Credential& credential) {
    const AttributesReply reply = GetAttributes(directory, credential);
    return {reply.error, reply.attributes};
  }
  // Until when, by CLOCK_MONOTONIC, delegations are to be trusted, as far as is known. Any context.
  virtual uint64_t delegations_until_ns() const { return 0; }
  // Returns whether Open() sends an OPEN, by `directory` and `name` unless there is no name.
  virtual bool sends_open() const { return false; }
  // Returns whether an OPEN may do without a name (CLAIM_FH): false once a server has refused that.
  virtual bool can_open_by_handle() const { return false; }
  // Byte-range locks, where the server has them: of an `owner` in this client, who has one for each
  // file, by whatever `open` of it. Advisory. Neither waits for the other owner. What is held is
  // held until Unlock(), or until the `open` that the owner's first lock was made by is destroyed.
  // io_error once the server has dropped a lock (a lease that expired), also for reads and writes
  // by that `open`, until all of the owner is unlocked.
  virtual bool has_locks() const { return false; }
  virtual LockReply Lock(const OpenState& /*open*/, uint64_t /*owner*/, const RangeLock&) {
    return {std::errc::no_lock_available};
  }
  virtual std::errc Unlock(const OpenState& /*open*/, uint64_t /*owner*/, ByteRange) {
    return std::errc::no_lock_available;
  }
  // Unlocks all, of an owner that is not used any more by this `open`.
  virtual std::errc ReleaseLocks(const OpenState& /*open*/, uint64_t /*owner*/) { return {}; }
  // As Lock(), without taking it.
  virtual LockReply TestLock(const OpenState& /*open*/, uint64_t /*owner*/, const RangeLock&) {
    return {std::errc::no_lock_available};
  }
  // For what is written under a lock and not sent at once. Waits until the server has confirmed the
  // lease, if that had passed without an answer. Errors: io_error as above.
  virtual std::errc ConfirmLocks(const OpenState& /*open*/) { return {}; }
  // `state`: from Open() of `file`, or null. Writes to `into` only before it returns, also behind
  // what the reply counts, as after an error.
  virtual ReadReply Read(const FileHandle& file, uint64_t offset_bytes, std::span<std::byte> into,
                         const OpenState* state, const Credential& credential) = 0;
  // Writes with FILE_SYNC: the data is on stable storage on return. May write less than `data`.
  // Write-back uses StartWrite().
  virtual WriteReply Write(const FileHandle& file, uint64_t offset_bytes,
                           std::span<const std::byte> data, const OpenState* state,
                           const Credential& credential) = 0;
  // Sends a READ or a WRITE and returns while it is in flight; the data, `state` and `credential`
  // live until the InFlight is destroyed. A WRITE of kUnstable data needs a Commit(), whose
  // verifier must be the WRITE's (RFC 1813 3.3.7, RFC 7530 16.36.4). Throws std::bad_alloc, with
  // nothing sent; a decorator may return null for it.
  virtual ReadInFlight StartRead(const FileHandle& file, uint64_t offset_bytes,
                                 std::span<std::byte> into, const OpenState* state,
                                 const Credential& credential) {
    return std::make_unique<Ended<ReadReply>>(Read(file, offset_bytes, into, state, credential));
  }
  virtual WriteInFlight StartWrite(const FileHandle& file, uint64_t offset_bytes,
                                   std::span<const std::byte> data, Stability /*stability*/,
                                   const OpenState* state, const Credential& credential) {
    UnstableWriteReply reply;
    static_cast<WriteReply&>(reply) = Write(file, offset_bytes, data, state, credential);
    return std::make_unique<Ended<UnstableWriteReply>>(std::move(reply));
  }
  // The first content of a kind from an offset on. Errors: no_such_device_or_address behind the
  // end of the file; operation_not_supported where the server cannot say.
  virtual SeekReply Seek(const FileHandle& /*file*/, uint64_t /*offset_bytes*/, Content,
                         const OpenState* /*state*/, const Credential&) {
    return {std::errc::operation_not_supported};
  }
  // Whether the server may know StartAllocate().
  virtual bool can_allocate() const { return false; }
  // As StartWrite(). Errors: operation_not_supported.
  virtual FileChangeInFlight StartAllocate(const FileHandle& /*file*/, const Allocation&,
                                           const OpenState* /*state*/, const Credential&) {
    return std::make_unique<Ended<FileChangeReply>>(
        FileChangeReply{std::errc::operation_not_supported, {}, 0});
  }
  // Whether the server may know StartCopy().
  virtual bool can_copy() const { return false; }
  // Has the server copy a part of `source` into `file`, onto its stable storage; or less of it, or
  // nothing where the source was cut: copied_bytes of the reply. As StartWrite(). Preconditions:
  // the part is within `source` as far as is known, and not copied over. Errors:
  // operation_not_supported also where the source may be stale; invalid_argument where it was cut.
  virtual FileChangeInFlight StartCopy(const FileHandle& /*file*/, const OpenState* /*state*/,
                                       const FileHandle& /*source*/,
                                       const OpenState* /*source_state*/, const CopiedRange&,
                                       const Credential&) {
    return std::make_unique<Ended<FileChangeReply>>(
        FileChangeReply{std::errc::operation_not_supported, {}, 0});
  }
  // Extended attributes (RFC 8276), by names without the prefix "user.", of which all are. Errors:
  // operation_not_supported by the version, the server or its file system; no_message_available
  // (ENODATA) for a name that there is not; argument_list_too_long (E2BIG).
  virtual bool has_xattrs() const { return false; }
  virtual XattrReply GetXattr(const FileHandle& /*file*/, std::string_view /*name*/,
                              const Credential&) {
    return {std::errc::operation_not_supported, {}};
  }
  virtual XattrNamesReply ListXattrs(const FileHandle& /*file*/, const Credential&) {
    return {std::errc::operation_not_supported, {}};
  }
  virtual FileChangeReply SetXattr(const FileHandle& /*file*/, std::string_view /*name*/,
                                   std::string_view /*value*/, XattrMode, const Credential&) {
    return {std::errc::operation_not_supported, {}, 0};
  }
  virtual FileChangeReply RemoveXattr(const FileHandle& /*file*/, std::string_view /*name*/,
                                      const Credential&) {
    return {std::errc::operation_not_supported, {}, 0};
  }
  // An ACL of a file, of a kind that the version has. Errors: operation_not_supported by the server
  // or the file system; invalid_argument for what is no such list; argument_list_too_long (E2BIG).
  // A POSIX one: no_message_available where there is none; one without entries removes it.
  virtual bool has_acl(AclKind) const { return false; }
  virtual XattrReply GetAcl(const FileHandle& /*file*/, AclKind, const Credential&) {
    return {std::errc::operation_not_supported, {}};
  }
  virtual FileChangeReply SetAcl(const FileHandle&, AclKind, std::string_view, const Credential&) {
    return {std::errc::operation_not_supported, {}, 0};
  }
  // COMMIT of the whole file.
  virtual CommitReply Commit(const FileHandle& /*file*/, const Credential&) { return {}; }
  // Commit(), as StartWrite().
  virtual CommitInFlight StartCommit(const FileHandle& file, const Credential& credential) {
    return std::make_unique<Ended<CommitReply>>(Commit(file, credential));
  }
  // Read() of `into` in pieces of up to `piece_bytes`, which may be in flight at the same time.
  // Counts what came without a gap from the first byte on, until the end of the file or an error.
  virtual ReadReply ReadPieces(const FileHandle& file, uint64_t offset_bytes,
                               std::span<std::byte> into, size_t piece_bytes,
                               const OpenState* state, const Credential& credential) {
    ReadReply all;
    while (all.error == std::errc{} && !all.eof && all.count_bytes < into.size()) {
      const size_t done = all.count_bytes;
      all = Read(file, offset_bytes + done,
                 into.subspan(done, std::min(piece_bytes, into.size() - done)), state, credential);
      if (all.error == std::errc{} && all.count_bytes == 0) all.eof = true;
      all.count_bytes += done;
    }
    return all;
  }
  // Returns one chunk; if `plus`, with the attributes and handles that the server sends
  // (READDIRPLUS). kStale also if the server says NOENT, which Linux does of a directory that was
  // removed and is still in use there.
  virtual ReadDirReply ReadDir(const FileHandle& directory, ReadDirPosition position, bool plus,
                               const Credential& credential) = 0;

  // ReadDir() with `plus` of each of `questions`, in the manner of LookupBatch().
  virtual void ReadDirBatch(std::span<const ListQuestion> questions,
                               const Credential& credential, std::span<ReadDirReply> replies) {
    for (size_t i = 0; i < questions.size(); ++i) {
      replies[i] = ReadDir(questions[i].directory, questions[i].position, true, credential);
    }
  }

  // Create() to RemoveDirectory() are not idempotent: what one did whose reply is lost is answered
  // by the server's duplicate request cache, or looked up (WIRE-2, lost_reply.h).
  virtual CreateReply Create(const FileHandle& directory, std::string_view name, CreateMode how,
                             const SetAttributes& attributes, const Credential& credential) = 0;
  // Create() of a file that is open on return, as by Open(). kUnchecked opens one that exists, with
  // its attributes, if sends_open(); else it is Create()'s.
  virtual CreateOpenReply CreateOpen(const FileHandle& directory, std::string_view name,
                                     CreateMode how, const SetAttributes& attributes, bool /*read*/,
                                     bool /*write*/, const Credential& credential) {
    return {Create(directory, name, how, attributes, credential), nullptr};
  }
  virtual CreateReply MakeDirectory(const FileHandle& directory, std::string_view name,
                                    const SetAttributes& attributes,
                                    const Credential& credential) = 0;
  virtual CreateReply MakeSymlink(const FileHandle& directory, std::string_view name,
                                  std::string_view target, const SetAttributes& attributes,
                                  const Credential& credential) = 0;
  // Makes a FIFO, a socket or a device; `device` is {0, 0} for the first two.
  virtual CreateReply MakeNode(const FileHandle& /*directory*/, std::string_view /*name*/,
                               FileType /*type*/, Device /*device*/, const SetAttributes&,
                               const Credential&) {
    return {.error = std::errc::operation_not_supported,
            .handle = {},
            .attributes = {},
            .directory = {}};
  }
  virtual LinkReply Link(const FileHandle& file, const FileHandle& directory, std::string_view name,
                         const Credential& credential) = 0;
  // These three: `known` is what the (old) name leads to, where that is known. The outcome of a
  // lost reply is judged by that object, and the call is not sent again once it has done what it
  // was to do (lost_reply.h).
  virtual RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                             const FileHandle& to_directory, std::string_view to_name,
                             const std::optional<KnownObject>& known,
                             const Credential& credential) = 0;
  virtual RemoveReply Remove(const FileHandle& directory, std::string_view name,
                             const std::optional<KnownObject>& known,
                             const Credential& credential) = 0;
  virtual RemoveReply RemoveDirectory(const FileHandle& directory, std::string_view name,
                                      const std::optional<KnownObject>& known,
                                      const Credential& credential) = 0;
  virtual FileChangeReply SetAttributesOf(const FileHandle& file, const SetAttributes& attributes,
                                          const Credential& credential) = 0;
  // SetAttributesOf(), as StartWrite(): an interrupted SETATTR that is executed late cuts what was
  // written meanwhile.
  virtual FileChangeInFlight StartSetAttributes(const FileHandle& file,
                                                const SetAttributes& attributes,
                                                const Credential& credential) {
    return std::make_unique<Ended<FileChangeReply>>(SetAttributesOf(file, attributes, credential));
  }

  // Returns the RPCs sent, including retransmissions. Relaxed: exact while no call is in progress.
  virtual uint64_t rpcs_sent() const = 0;
  virtual TransportStats transport_stats() const { return {}; }

  // Fails all calls in flight and all later ones with errc::operation_canceled. For unmount.
  virtual void Shutdown() = 0;

 protected:
  // One of LookupBatch(), by a call of its own.
  LookupPathReply LookupAlone(const LookupQuestion& question, const Credential& credential) {
    const FileHandle& file = question.file;
    if (!question.names.empty() && can_lookup_paths()) {
      return LookupPath(file, question.names, credential);
    }
    LookupPathReply reply;
    if (!question.names.empty()) {
      LookupReply found = Lookup(file, question.names.front(), credential);
      if (found.error == std::errc{} && !found.attributes) {
        const AttributesReply attributes = GetAttributes(found.handle, credential);
        found.error = attributes.error;
        TakeAttributes(attributes.attributes, found);
      }
      TakeLookup(found, reply);
    } else if (question.rights) {
      const AccessReply access = Access(file, credential);
      reply.error = access.error;
      reply.directory = access.attributes;
      if (access.error == std::errc{}) reply.granted = access.granted;
    } else {
      const AttributesReply attributes = GetAttributes(file, credential);
      reply.error = attributes.error;
      if (attributes.error == std::errc{}) reply.directory = attributes.attributes;
    }
    return reply;
  }
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_PROTOCOL_H_
