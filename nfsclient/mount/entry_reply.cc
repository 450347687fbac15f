#include "nfsclient/mount/entry_reply.h"

#include <utility>

namespace nfswalk::mount {

std::errc ReplyLookup(const Try& attempt, NodeNumber parent, const std::string& name) {
  FileSystem& file_system = attempt.file_system;
  const uint64_t sample = file_system.caches.Sample();
  auto found = file_system.nodes.At(parent).Lookup(name, attempt.credential, attempt.flags);
  if (!found) return found.error();
  // An entry without a node and a timeout is no reply (fuse_lowlevel.h, fuse_entry_param).
  if (found->node == nullptr && found->name_valid_ns == 0) {
    return std::errc::no_such_file_or_directory;
  }
  KernelCaches::Reply reply(file_system.caches, sample);
  const auto entry = reply.Entry(parent, name.c_str(), *std::move(found));
  const bool sent = fuse_reply_entry(attempt.request, &entry) == 0;
  if (!sent && entry.ino != 0) file_system.nodes.Forget(entry.ino, 1);
  return {};
}

}  // namespace nfswalk::mount
