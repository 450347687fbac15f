// lost_reply: the outcome of a non-idempotent call whose reply was lost.
//
// It is sent again with its xid, after a reconnect from the same port, by which the server's
// duplicate request cache knows it and answers without executing it again (WIRE-2). Where that
// cache missed, as at a server that restarted, it fails with the error that its own first execution
// causes (EEXIST, ENOENT). So the outcome of a call that was sent twice and fails so is looked up;
// the error stays if it was not executed. Versions 3 and 4.0 alike:
//
//   call              looked up              outcome
//   CREATE unchecked  no: idempotent         -
//   CREATE guarded    no: sent as EXCLUSIVE with a verifier that the server stores with the file
//                     and compares (RFC 1813 3.3.8, RFC 7530 16.16); SETATTR then sets the
//                     attributes
//   ... if the server does not support EXCLUSIVE: as MKDIR
//   MKDIR             LOOKUP                 ENOENT: not executed. A directory with our type, owner
//                                            and mode and no subdirectory: done. Else EEXIST
//   SYMLINK           LOOKUP                 ENOENT: not executed. A link with our owner and text:
//                                            done. Else EEXIST
//   LINK              LOOKUP                 ENOENT: not executed. The same file: done. Else EEXIST
//   REMOVE, RMDIR     LOOKUP                 ENOENT: done. Found: not executed
//   RENAME            two LOOKUPs            source found: not executed. Source ENOENT and target
//                                            found: done. Both ENOENT: ENOENT
//   SETATTR, WRITE    no: idempotent         -
//
// Not detected: another client that creates, removes or renames the same name between the two
// transmissions where the cache missed (the result is as if both changes had come in some order,
// but REMOVE and RENAME may act on the other client's object), and a server that executes the lost
// call after the LOOKUP. Either way the damage is a wrong EEXIST, ENOENT or success for this one
// name.
//
// A WRITE or SETATTR that a server executes late, after its repetition and after a newer one, would
// undo the newer one. The cache prevents that: the late one has the xid and the port of what was
// answered (nfs-ganesha 4.3 and Linux keep the replies of both). A client has no other means: it
// learns of what the server still holds of an ended connection by the answer to the repetition
// alone. So nothing is held back here. What a soft mount ended in ETIMEDOUT may be executed at any
// time (nfs(5), soft), as may what a server without such a cache holds.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_RPC_LOST_REPLY_H_
#define NFSWALK_NFSCLIENT_RPC_LOST_REPLY_H_

#include <optional>
#include <string_view>
#include <system_error>

#include "nfsclient/protocol/newly_created.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// find_outcome() of the calls that create. `check(found)` returns kOk if the object found under the
// name is the one created, file_exists if not, or the error that prevents an answer.
template <typename Check>
std::optional<CreateReply> OutcomeOfCreate(const LookupReply& found, Check check) {
  if (found.error == std::errc::no_such_file_or_directory) return std::nullopt;
  CreateReply reply;
  reply.error = found.error;
  if (found.error == kOk) reply.error = check(found);
  reply.directory.after = found.directory;
  if (reply.error != kOk) return reply;
  reply.handle = found.handle;
  reply.attributes = found.attributes;
  return reply;
}

// check() for all types but symbolic links, by LooksNewlyCreated().
std::errc CheckCreated(const LookupReply& found, FileType type, const SetAttributes& requested,
                       const Credential& credential);
// check() for a symbolic link to `target`. `read_link()` reads the link found.
template <typename ReadLink>
std::errc CheckCreatedSymlink(const LookupReply& found, std::string_view target,
                              const SetAttributes& requested, const Credential& credential,
                              ReadLink read_link) {
  const std::errc fresh = CheckCreated(found, FileType::kSymlink, requested, credential);
  if (fresh != kOk) return fresh;
  const ReadLinkReply read = read_link();
  const bool unknown =
      read.error == std::errc::timed_out || read.error == std::errc::operation_canceled;
  if (unknown) return read.error;
  return read.target == target ? kOk : std::errc::file_exists;
}

// check() for a fifo, a socket or a device.
std::errc CheckCreatedNode(const LookupReply& found, FileType type, Device device,
                           const SetAttributes& requested, const Credential& credential);

// find_outcome() of REMOVE and RMDIR.
std::optional<RemoveReply> OutcomeOfRemove(const LookupReply& found);
// find_outcome() of LINK of `file`.
std::optional<LinkReply> OutcomeOfLink(const LookupReply& found, const FileHandle& file);
// find_outcome() of RENAME. Calls `lookup_target()`, a LOOKUP of the new name, if the old is gone.
template <typename LookupTarget>
std::optional<RenameReply> OutcomeOfRename(const LookupReply& source, LookupTarget lookup_target) {
  RenameReply reply;
  if (source.error == kOk) return std::nullopt;
  reply.error = source.error;
  if (source.error != std::errc::no_such_file_or_directory) return reply;
  const LookupReply target = lookup_target();
  reply.error = target.error;
  reply.from_directory.after = source.directory;
  reply.to_directory.after = target.directory;
  return reply;
}

// Returns a verifier for an EXCLUSIVE create: unique in this process, random across processes.
uint64_t NewExclusiveVerifier();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_RPC_LOST_REPLY_H_
