// decode: decodes and checks the results of an NFSv4 server.
//
// Checks lengths, counts and types as nfs3/decode.h does, handles up to 128 bytes. Functions return
// false for what does not parse; the caller then uses nothing of the reply. Names and texts are
// counted strings: an embedded NUL is an error, as are the names "." and ".." and the cookie 0 in a
// directory.
//
// A fattr4 is decoded by its own bitmap (RFC 7530 5), for which the length of every attribute must
// be known: all but ACLs, locations and write-only ones. The values must end where the bitmap says.
// fsid halves below 2^32 are concatenated, others hashed into 64 bits. Nanoseconds of a second and
// more are cut to 999999999.
//
// Thread safety: all functions (OwnerNames is).
#ifndef NFSWALK_NFSCLIENT_NFS4_DECODE_H_
#define NFSWALK_NFSCLIENT_NFS4_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/nfs4/state_id.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

inline constexpr size_t kNfs4HandleBytesMax = 128;

// The fattr4 of a file.
struct FileAttributes {
  Attributes attributes;
  std::optional<FileHandle> handle;
  uint64_t mounted_on_fileid = 0;  // attributes.fileid if not sent
  std::errc rdattr_error{};        // READDIR: why attributes are missing
  // All attributes that GetAttributes() requests were sent, or have a substitute: space_used
  // (size), rawdev (0), time_access (time_modify).
  bool complete = false;
};
bool DecodeFileAttributes(rpc::XdrReader& results, const OwnerNames& owners, OwnerWait& wait,
                          FileAttributes& decoded);

// The fattr4 of GetLimits().
struct ServerAttributes {
  ServerLimits limits;         // clamped as those of version 3; 64 KiB, 255 if not sent
  uint32_t lease_seconds = 0;  // at least 1
};
bool DecodeServerAttributes(rpc::XdrReader& results, ServerAttributes& decoded);

// The fattr4 of GetAcl(): nullopt where it has no ACL. Borrows from `results`.
bool DecodeAcl(rpc::XdrReader& results, std::optional<std::string_view>& acl);

// The fattr4 of GetSpace().
bool DecodeSpace(rpc::XdrReader& results, FileSystemSpace& decoded);

// stateid4; nfs_fh4.
StateId ReadState(rpc::XdrReader& body);
FileHandle ReadHandle(rpc::XdrReader& body);

// Each decodes the next result of `reader`, which must be of its operation, to its end. Returns
// false, sets reader.error() and stores nothing if that failed or does not parse.
bool TakeHandle(CompoundReader& reader, FileHandle& handle);
bool TakeAttributes(CompoundReader& reader, const OwnerNames& owners, Attributes& attributes);
// Returns nullopt if that fails.
OptionalAttributes TakeOptionalAttributes(CompoundReader& reader, const OwnerNames& owners);
bool TakeLimits(CompoundReader& reader, ServerAttributes& decoded);
bool TakeSpace(CompoundReader& reader, FileSystemSpace& space);
bool TakeAccess(CompoundReader& reader, uint32_t& granted);
bool TakeLinkText(CompoundReader& reader, std::string& target);
// The content of `into` is undefined after an error.
bool TakeRead(CompoundReader& reader, std::span<std::byte> into, ReadReply& reply);
// `sent_bytes`: size of the data sent. The server committed it at least as `requested`.
bool TakeWrite(CompoundReader& reader, size_t sent_bytes, Stability requested,
               UnstableWriteReply& reply);
bool TakeCommit(CompoundReader& reader, uint64_t& verifier);
// `requested`: as in nfs3/decode.h. An empty chunk that is not the last is kTooSmall.
bool TakeEntries(CompoundReader& reader, const OwnerNames& owners, ReadDirPosition requested,
                 ReadDirReply& reply);

// change_info4 (RFC 7530 2.2.8): the directory before and after an operation that changes it.
struct ChangeInfo {
  bool atomic = false;
  uint64_t before = 0;
  uint64_t after = 0;
};
bool TakeCreated(CompoundReader& reader, ChangeInfo& directory);
bool TakeRemoved(CompoundReader& reader, ChangeInfo& directory);
bool TakeLinked(CompoundReader& reader, ChangeInfo& directory);
bool TakeRenamed(CompoundReader& reader, ChangeInfo& from_directory, ChangeInfo& to_directory);
// Returns `change` and `now`, the directory's attributes read later in the same COMPOUND. Leaves
// `now` out if another client changed the directory in between. Atomic only if no other client can
// have changed it from `change.before` until then.
WeakCacheConsistency Consistency(const ChangeInfo& change, const OptionalAttributes& now);

struct ClientIdGrant {
  uint64_t client_id = 0;
  uint64_t verifier = 0;
};
bool TakeClientId(CompoundReader& reader, ClientIdGrant& grant);
bool TakeExchange(CompoundReader& reader, ExchangeGrant& grant);
bool TakeSession(CompoundReader& reader, SessionGrant& grant);
// Returns whether the connection was bound to the back channel of that session.
bool TakeBound(CompoundReader& reader, const SessionId& session);
struct DelegationGrant {
  StateId state;
  bool for_writing = false;
  bool is_recalled = false;  // the server wants it back at once
  bool of_directory = false;
};
// GET_DIR_DELEGATION. False also where the server refuses; nullopt: none at this time.
bool TakeDirectoryDelegation(CompoundReader& reader, std::optional<DelegationGrant>& grant);
struct OpenGrant {
  StateId state;
  ChangeInfo directory;
  bool must_confirm = false;
  uint64_t attributes_set = 0;  // bits of FATTR4_*, of a file that was created
  std::optional<DelegationGrant> delegation = {};
};
bool TakeOpen(CompoundReader& reader, OpenGrant& grant);
bool TakeXattr(CompoundReader& reader, std::string& value);
// GetAcl(): nullopt where the server has sent none.
bool TakeAcl(CompoundReader& reader, std::optional<std::string>& acl);
// SETXATTR, REMOVEXATTR: `operation`.
bool TakeXattrChange(CompoundReader& reader, int operation, ChangeInfo& file);
// LISTXATTRS.
struct XattrList {
  uint64_t cookie = 0;
  bool eof = false;
  std::vector<std::string> names = {};
};
// False also for names that are none.
bool TakeXattrNames(CompoundReader& reader, XattrList& list);
// SEEK, into all but the error.
bool TakeSeek(CompoundReader& reader, SeekReply& reply);
// The result of Copy().
struct CopyResult {
  uint64_t count_bytes = 0;
  Stability committed = Stability::kFileSync;
  uint64_t verifier = 0;
};
// False also for a copy that the server makes behind its reply, and for more than the range.
bool TakeCopied(CompoundReader& reader, const CopiedRange& range, CopyResult& result);
// An nfsstat4 for each state id of TestStates(); false for more or fewer.
bool TakeTested(CompoundReader& reader, std::span<int> statuses);
// OPEN_CONFIRM; CLOSE.
bool TakeConfirmed(CompoundReader& reader, StateId& state);
bool TakeClosed(CompoundReader& reader);
bool TakeLocked(CompoundReader& reader, StateId& state);
bool TakeUnlocked(CompoundReader& reader, StateId& state);
// After a LOCK or LOCKT that failed: the lock of LOCK4denied, if it was NFS4ERR_DENIED.
std::optional<RangeLock> TakeDenied(CompoundReader& reader);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_DECODE_H_
