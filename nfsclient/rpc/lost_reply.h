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
//   REMOVE, RMDIR     LOOKUP                 ENOENT: done. Found: not executed
//   RENAME            two LOOKUPs            source found: not executed. Source ENOENT and target
//                                            found: done. Both ENOENT: ENOENT
//   SETATTR, WRITE    none: idempotent       -
//
// Not detected: another client that removes or renames the same name before or between the two
// transmissions where the cache missed (the result is as if both changes had come in some order,
// but REMOVE and RENAME may act on the other client's object), and a server that executes the lost
// call after the LOOKUP. Either way the damage is a wrong ENOENT or success for this one name.
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

#include <cstdint>
#include <optional>
#include <system_error>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// find_outcome() of REMOVE and RMDIR.
std::optional<RemoveReply> OutcomeOfRemove(const LookupReply& found);
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
