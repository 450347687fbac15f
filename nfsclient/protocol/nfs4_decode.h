// nfs4_decode: results of an NFSv4 server, checked before anybody uses them.
//
// Lengths, counts and types are checked as in nfs3_decode.h, handles up to 128 bytes. What does not
// parse is false, and the caller keeps nothing of the reply. Names and texts are counted strings
// here: a NUL inside is an error, as are the names "." and ".." and a cookie of 0 in a directory.
//
// A fattr4 is read by the bitmap that came with it, in which every attribute's length must be known
// (RFC 7530 5): all but ACLs, locations and those that can only be set. The values must end where
// the bitmap says. The two halves of an fsid go side by side if they fit into 32 bits each, so that
// those stay apart for sure; others are hashed into 64 bits. Nanoseconds are below 10^9, cut if
// need be.
//
// Thread safety: all functions (OwnerNames is).
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_DECODE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "nfsclient/protocol/nfs4_compound.h"
#include "nfsclient/protocol/nfs4_owner.h"
#include "nfsclient/protocol/nfs4_state.h"
#include "nfsclient/protocol/protocol.h"

struct fattr4;

namespace nfswalk::protocol {

inline constexpr size_t kNfs4HandleBytesMax = 128;

// What a server said of a file, or of itself.
struct FileFacts {
  Attributes attributes;
  std::optional<FileHandle> handle;
  uint64_t mounted_on_fileid = 0;  // as attributes.fileid if the server did not say
  std::errc rdattr_error{};        // READDIR: why there are no attributes
  // All that GetAttributes() asks for was there, but for what a server need not have: the space
  // used (the size stands in), the device (0) and the time of access (that of modification).
  bool complete = false;
};
bool DecodeFacts(const fattr4& wire, const OwnerNames& owners, FileFacts& facts);

struct ServerFacts {
  ServerLimits limits;  // clamped as those of version 3; 64 KiB, 255 if the server did not say
  uint32_t lease_seconds = 0;  // at least 1
};
bool DecodeServerFacts(const fattr4& wire, ServerFacts& facts);

// The readers of one operation's result each: they take the next result of `reader`, which must be
// of that operation, and leave an error in it. False if there is none that parses.
bool TakeHandle(CompoundReader& reader, FileHandle& handle);
bool TakeAttributes(CompoundReader& reader, const OwnerNames& owners, Attributes& attributes);
bool TakeLimits(CompoundReader& reader, ServerFacts& facts);
bool TakeAccess(CompoundReader& reader, uint32_t& granted);
bool TakeLinkText(CompoundReader& reader, std::string& target);
bool TakeRead(CompoundReader& reader, std::span<std::byte> into, ReadReply& reply);
// `asked_bytes`: the length of the data that was sent.
bool TakeWrite(CompoundReader& reader, size_t asked_bytes, size_t& count_bytes);
// `asked`: as in nfs3_decode.h. An empty chunk that is not the last is TOOSMALL (kTooSmall).
bool TakeEntries(CompoundReader& reader, const OwnerNames& owners, ReadDirPosition asked,
                 ReadDirReply& reply);

// RFC 7530 2.2.8. What an operation that changes a directory says of it.
struct ChangeInfo {
  bool atomic = false;
  uint64_t before = 0;
  uint64_t after = 0;
};
bool TakeCreated(CompoundReader& reader, ChangeInfo& directory);
bool TakeRemoved(CompoundReader& reader, ChangeInfo& directory);
bool TakeLinked(CompoundReader& reader, ChangeInfo& directory);
bool TakeRenamed(CompoundReader& reader, ChangeInfo& from_directory, ChangeInfo& to_directory);
// `now`: the directory's attributes, read by the same COMPOUND after the change. They are left
// out if somebody else has changed the directory since; atomic only if nobody can have done so from
// `change.before` until then.
WeakCacheConsistency Consistency(const ChangeInfo& change, const OptionalAttributes& now);

struct ClientIdGrant {
  uint64_t client_id = 0;
  uint64_t verifier = 0;
};
bool TakeClientId(CompoundReader& reader, ClientIdGrant& grant);
struct OpenGrant {
  StateId state;
  ChangeInfo directory;
  bool must_confirm = false;
};
bool TakeOpen(CompoundReader& reader, OpenGrant& grant);
// OPEN_CONFIRM, CLOSE.
bool TakeConfirmed(CompoundReader& reader, StateId& state);
bool TakeClosed(CompoundReader& reader);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_DECODE_H_
