// lost_reply: the outcome of a non-idempotent call whose reply was lost.
//
// It is sent again with its xid, after a reconnect from the same port, by which the server's
// duplicate request cache knows it and answers without executing it again (WIRE-2). Where that
// cache missed, as at a server that restarted, it fails with the error that its own first execution
// causes (EEXIST, ENOENT), which another client's change causes as well. Versions 3 and 4.0 alike:
//
//   call              after that error       outcome
//   CREATE unchecked  none: idempotent       -
//   CREATE guarded    none: sent as EXCLUSIVE with a verifier that the server stores with the file
//                     and compares (RFC 1813 3.3.8, RFC 7530 16.16); SETATTR then sets the
//                     attributes
//   ... if the server does not support EXCLUSIVE: as MKDIR
//   MKDIR, SYMLINK,   nothing                EEXIST, as by Linux: nothing that the server tells
//   MKNOD, LINK                              proves that the object is this call's and no other's
//                                            alike, and callers take such a name for a lock
//   REMOVE, RMDIR     LOOKUP, GETATTR        name found: not executed. ENOENT: done, unless the
//                                            object has all its links: it was renamed
//   RENAME            two LOOKUPs            source found: not executed. Source ENOENT: done if the
//                                            target is what the source was, else ENOENT
//   SETATTR, WRITE,   none: idempotent       -
//   SETXATTR
//   SETXATTR create   nothing                EEXIST, as MKDIR
//   REMOVEXATTR       nothing                ENODATA: done
//
// Before a REMOVE, RMDIR or RENAME is sent over another connection, a name that was valid (NAME-1),
// or that was seen to lead there in the 3 seconds before, as with noac, is looked up. If another
// client has given it to another object, and the one that had it has lost a link, or is the target,
// then the call is done and is not sent: a server whose cache missed would execute it on the other
// client's object. A name that is not there is left to the server, whose cache may know more.
// Without a KnownObject nothing is looked up before, and afterwards any target is taken for the
// source's object.
//
// Not detected: another client that makes the very change itself before the first transmission is
// executed, which leaves the same on the server; one that replaces the object while the caches
// still trust the name, or after that LOOKUP; and a server that executes the lost call after the
// LOOKUP. Either way the damage is a wrong ENOENT or success for this one name.
//
// A WRITE or SETATTR that a server executes late, after its repetition and after a newer one, would
// undo the newer one. The cache prevents that: the late one has the xid and the port of what was
// answered (nfs-ganesha 4.3 and Linux keep the replies of both). A client has no other means: it
// learns of what the server still holds of an ended connection by the answer to the repetition
// alone. So nothing is held back here. What a soft mount ended in ETIMEDOUT may be executed at any
// time (nfs(5), soft), as may what a server without such a cache holds.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_RPC_LOST_REPLY_H_
#define NFSWALK_NFSCLIENT_RPC_LOST_REPLY_H_

#include <cstdint>
#include <optional>
#include <system_error>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// When the outcome of a call without a reply is looked up.
enum class LookedUp {
  kBeforeRepetition,  // over another connection
  kAfterError,        // the repetition has failed as a second execution would
};

// False: nothing could be learned.
bool MayLookUp(LookedUp when, const std::optional<KnownObject>& known);
// True of a name that shows no outcome: that leads to `known` still, or to what nothing is known
// of. Before a repetition also of one that is not there, as nothing can come to harm: the server's
// duplicate request cache may know more.
bool IsInconclusive(LookedUp when, const LookupReply& found,
                    const std::optional<KnownObject>& known);

// find_outcome() of REMOVE and RMDIR. `look_up()` is a LOOKUP of the name, `get_attributes()` a
// GETATTR of `known`, called only where that has a value.
template <typename LookUp, typename GetAttributes>
std::optional<RemoveReply> OutcomeOfRemove(LookedUp when, const std::optional<KnownObject>& known,
                                           LookUp look_up, GetAttributes get_attributes) {
  if (!MayLookUp(when, known)) return std::nullopt;
  const LookupReply found = look_up();
  if (IsInconclusive(when, found, known)) return std::nullopt;
  RemoveReply reply;
  reply.directory.after = found.directory;
  reply.name_is_taken = found.error == kOk;
  if (!reply.name_is_taken) reply.error = found.error;
  if (reply.error == std::errc::no_such_file_or_directory) reply.error = kOk;
  if (reply.error != kOk || !known) return reply;
  const AttributesReply object = get_attributes();
  if (object.error == kOk && object.attributes.nlink >= known->nlink) return std::nullopt;
  if (object.error != kStale) reply.error = object.error;
  return reply;
}
// find_outcome() of RENAME. `look_up()` is a LOOKUP of the old name, `look_up_target()` of the new.
template <typename LookUp, typename LookUpTarget>
std::optional<RenameReply> OutcomeOfRename(LookedUp when, const std::optional<KnownObject>& known,
                                           LookUp look_up, LookUpTarget look_up_target) {
  if (!MayLookUp(when, known)) return std::nullopt;
  const LookupReply source = look_up();
  if (IsInconclusive(when, source, known)) return std::nullopt;
  RenameReply reply;
  reply.name_is_taken = source.error == kOk;
  reply.error = source.error;
  if (!reply.name_is_taken && source.error != std::errc::no_such_file_or_directory) return reply;
  const LookupReply target = look_up_target();
  const bool is_other = target.error == kOk && known && target.handle != known->handle;
  const bool is_absent = target.error == std::errc::no_such_file_or_directory;
  if (is_other || is_absent) return std::nullopt;
  reply.error = target.error;
  reply.from_directory.after = source.directory;
  reply.to_directory.after = target.directory;
  return reply;
}

// Returns a verifier for an EXCLUSIVE create: unique in this process, random across processes.
uint64_t NewExclusiveVerifier();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_RPC_LOST_REPLY_H_
