// entry_reply: replies that tell the kernel what a name leads to.
//
// Thread safety: any thread.
#ifndef NFSWALK_NFSCLIENT_MOUNT_ENTRY_REPLY_H_
#define NFSWALK_NFSCLIENT_MOUNT_ENTRY_REPLY_H_

#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/node_table.h"

namespace nfswalk::mount {

// Replies with what `find` (a Result<LookupResult>) says that `name` leads to.
template <typename Find>
std::errc ReplyEntry(const Try& attempt, NodeNumber parent, const std::string& name, Find find) {
  FileSystem& file_system = attempt.file_system;
  const uint64_t sample = file_system.caches.Sample();
  Result<LookupResult> found = find();
  if (!found) return found.error();
  // An entry without a node and a timeout is no reply (fuse_lowlevel.h, fuse_entry_param).
  if (found->node == nullptr && found->name_valid_ns == 0) {
    return std::errc::no_such_file_or_directory;
  }
  KernelCaches::Reply reply(file_system.caches, sample, attempt.received);
  const auto entry = reply.Entry(parent, name.c_str(), *std::move(found));
  const bool sent = fuse_reply_entry(attempt.request, &entry) == 0;
  if (!sent && entry.ino != 0) file_system.nodes.Forget(entry.ino, 1);
  return {};
}

// Looks `name` up, and replies with what it leads to, or for how long it is known that it does not
// exist.
std::errc ReplyLookup(const Try& attempt, NodeNumber parent, const std::string& name);

// The reply to a change of a name that ended with `error`: ESTALE, once, where that says that
// the kernel knows the name as something else than it is, so that the VFS looks it up again before
// it fails.
std::errc AskForNames(const Try& attempt, NodeNumber parent, const std::string& name,
                      NameRetries::After after, std::errc error);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_ENTRY_REPLY_H_
