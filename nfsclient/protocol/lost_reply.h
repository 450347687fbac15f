// lost_reply: the outcome of a non-idempotent call whose reply is lost.
//
// A server's duplicate request cache is per connection (WIRE-2), so a call whose connection died
// may have been executed, and a retransmission could execute it twice. Versions 3 and 4.0 alike:
//
//   call              retransmitted          after a lost reply
//   CREATE unchecked  yes: idempotent        -
//   CREATE guarded    yes: sent as EXCLUSIVE with a verifier that the server stores with the file
//                     and compares (RFC 1813 3.3.8, RFC 7530 16.16); SETATTR then sets the
//                     attributes
//   ... if the server does not support EXCLUSIVE: as MKDIR
//   MKDIR             after LOOKUP           ENOENT: send again. A directory with our type, owner
//                                            and mode and no subdirectory: done. Else EEXIST
//   SYMLINK           after LOOKUP           ENOENT: send again. A link with our owner and text:
//                                            done. Else EEXIST
//   LINK              after LOOKUP           ENOENT: send again. The same file: done. Else EEXIST
//   REMOVE, RMDIR     after LOOKUP           ENOENT: done. Found: send again
//   RENAME            after two LOOKUPs      source found: send again. Source ENOENT and target
//                                            found: done. Both ENOENT: ENOENT
//   SETATTR, WRITE    yes: idempotent        -
//
// The same LOOKUPs decide when a retransmission fails with the error that its own first execution
// would cause (EEXIST, ENOENT).
//
// Not detected: another client that creates, removes or renames the same name between the two
// transmissions (the result is as if both changes had come in some order, but REMOVE and RENAME may
// act on the other client's object), and a server that executes the lost call after the LOOKUP.
// Either way the damage is a wrong EEXIST, ENOENT or success for this one name.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_LOST_REPLY_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_LOST_REPLY_H_

#include <optional>
#include <string_view>
#include <system_error>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// Sends until the outcome is known. `send()` returns the reply, or nullopt if it is lost.
// `find_outcome()` returns the reply of a lost call that was executed, or nullopt if it was not.
// `error_if_executed` is the error of a second execution.
template <typename Reply, typename Send, typename FindOutcome>
Reply SendUntilOutcomeKnown(std::errc error_if_executed, Send send, FindOutcome find_outcome) {
  for (bool reply_lost = false;; reply_lost = true) {
    const std::optional<Reply> reply = send();
    if (reply && !(reply_lost && reply->error == error_if_executed)) return *reply;
    if (const std::optional<Reply> outcome = find_outcome()) return *outcome;
    if (reply) return *reply;
  }
}

// Returns whether `found` are the attributes of an object of `type` that `credential` has just
// created with the `requested` attributes.
bool LooksNewlyCreated(const Attributes& found, FileType type, const SetAttributes& requested,
                       const Credential& credential);

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

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_LOST_REPLY_H_
