// lost_reply: what became of a call that changes something, when its reply is lost.
//
// A server keeps replies for a repeated call per connection only (WIRE-2), so a call
// whose connection died may have been executed, and sending it again blindly could execute it
// twice. Version 3 and version 4.0 alike:
//
//   call              is it repeated?        after a lost reply
//   CREATE unchecked  yes: idempotent        -
//   CREATE guarded    yes: sent as EXCLUSIVE with a verifier of ours, which the server keeps with
//                     the file and recognises (RFC 1813 3.3.8, RFC 7530 16.16); SETATTR then sets
//                     the attributes
//   ... if the server has no EXCLUSIVE: as MKDIR
//   MKDIR             after a LOOKUP         nothing there: send again. A fresh directory that
//                                            looks like ours (type, owner, mode, no subdirectory):
//                                            it is ours. Anything else: EEXIST
//   SYMLINK           after a LOOKUP         nothing there: again. A link of ours with the same
//                                            text: it is ours. Anything else: EEXIST
//   LINK              after a LOOKUP         nothing there: again. The same file: done. Else EEXIST
//   REMOVE, RMDIR     after a LOOKUP         nothing there: done. Anything there: again
//   RENAME            after LOOKUPs          source there: again. Source gone and target there:
//                                            done. Both gone: ENOENT
//   SETATTR, WRITE    yes: idempotent        -
//
// The same questions are asked when a repeated call fails with the error that its own first
// execution would cause (EEXIST, ENOENT). What this cannot see: another client that creates,
// removes or renames the same name while we are cut off; the result is then as if its change and
// ours had come in some order, but REMOVE and RENAME may act on the object that it put there. Nor
// can it see a server that executes the lost call only after it answered the LOOKUP. Neither shows
// as more than a wrong EEXIST or ENOENT, or success, for this one name.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_LOST_REPLY_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_LOST_REPLY_H_

#include <optional>
#include <string_view>
#include <system_error>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// Sends until the outcome is known. `send()` returns the reply, or nullopt if it was lost. `look()`
// finds out what became of a lost call: the reply to give, or nullopt if it was not executed.
// `suspicious` is the error that a call gets if it was executed before.
template <typename Reply, typename Send, typename Look>
Reply SendUntilKnown(std::errc suspicious, Send send, Look look) {
  for (bool was_lost = false;; was_lost = true) {
    const std::optional<Reply> reply = send();
    if (reply && !(was_lost && reply->error == suspicious)) return *reply;
    if (const std::optional<Reply> seen = look()) return *seen;
    if (reply) return *reply;
  }
}

// True if an object with `found` attributes can be the one that `credential` made as `type` with
// `asked` attributes a moment ago.
bool LooksFresh(const Attributes& found, FileType type, const SetAttributes& asked,
                const Credential& credential);

// For look() of the calls that make something: `judge(found)` says of what stands under the name
// now whether it is ours, if not file_exists, or why that cannot be known.
template <typename Judge>
std::optional<CreateReply> JudgeMade(const LookupReply& found, Judge judge) {
  if (found.error == std::errc::no_such_file_or_directory) return std::nullopt;
  CreateReply reply;
  reply.error = found.error;
  if (found.error == kOk) reply.error = judge(found);
  reply.directory.after = found.directory;
  if (reply.error != kOk) return reply;
  reply.handle = found.handle;
  reply.attributes = found.attributes;
  return reply;
}

// judge() for all but links, as LooksFresh().
std::errc JudgeFresh(const LookupReply& found, FileType type, const SetAttributes& asked,
                     const Credential& credential);
// judge() for a link to `target`; `read_link()` asks where the one that was found leads.
template <typename ReadLink>
std::errc JudgeLink(const LookupReply& found, std::string_view target, const SetAttributes& asked,
                    const Credential& credential, ReadLink read_link) {
  const std::errc fresh = JudgeFresh(found, FileType::kSymlink, asked, credential);
  if (fresh != kOk) return fresh;
  const ReadLinkReply read = read_link();
  const bool unknown =
      read.error == std::errc::timed_out || read.error == std::errc::operation_canceled;
  if (unknown) return read.error;
  return read.target == target ? kOk : std::errc::file_exists;
}

// For the calls that take something away.
std::optional<RemoveReply> JudgeRemoved(const LookupReply& found);
// For LINK of `file`.
std::optional<LinkReply> JudgeLinked(const LookupReply& found, const FileHandle& file);
// For RENAME. `look_target()` looks the new name up, if it must.
template <typename LookTarget>
std::optional<RenameReply> JudgeRenamed(const LookupReply& source, LookTarget look_target) {
  RenameReply reply;
  if (source.error == kOk) return std::nullopt;
  reply.error = source.error;
  if (source.error != std::errc::no_such_file_or_directory) return reply;
  const LookupReply target = look_target();
  reply.error = target.error;
  reply.from_directory.after = source.directory;
  reply.to_directory.after = target.directory;
  return reply;
}

// The verifier of an EXCLUSIVE create: differs from every other one of this process, and very
// likely from those of all others.
uint64_t NewExclusiveVerifier();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_LOST_REPLY_H_
