#include "nfsclient/nfs/readdir.h"

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/prime.h"

namespace nfswalk::nfs {

namespace {

// `change_id` is the directory's from before the RPC.
void PrimeEntry(Superblock& superblock, vfs::DentryRef& directory,
                const protocol::DirectoryEntry& entry, SendStamp stamp, uint64_t change_id) {
  if (!entry.attributes || !entry.handle || entry.name.size() > vfs::kNameMax) return;
  const vfs::PaddedName name(entry.name, directory.get());
  (void)PrimeName(superblock, directory, name.name(), *entry.handle, *entry.attributes, stamp,
                  change_id);
}

}  // namespace

std::errc ReadDirectory(Superblock& superblock, vfs::DentryRef& directory,
                        const sunrpc_auth::Credential& credential,
                        const std::function<bool(const protocol::DirectoryEntry&)>& visit) {
  icache::Inode& inode = *directory.inode();
  protocol::ReadDirPosition position;
  for (;;) {
    protocol::ReadDirReply reply;
    {
      auto lock = superblock.directory_locks.LockShared(inode);
      SendStamp stamp = Stamp(superblock);
      uint64_t change_id = inode.change_id.load(std::memory_order_relaxed);
      reply = superblock.protocol->ReadDir(inode.handle(), position, superblock.options.rdirplus,
                                           credential);
      if (reply.directory) UpdateAttributes(superblock, inode, *reply.directory, stamp);
      if (reply.error == protocol::kStale) MarkStale(superblock, inode);
      if (reply.error != std::errc{}) return reply.error;
      for (const auto& entry : reply.entries) {
        if (entry.name == "." || entry.name == "..") continue;
        PrimeEntry(superblock, directory, entry, stamp, change_id);
      }
    }
    for (const auto& entry : reply.entries) {
      if (entry.name == "." || entry.name == "..") continue;
      if (!visit(entry)) return {};
    }
    if (reply.eof) return {};
    if (reply.entries.empty()) return std::errc::io_error;  // neither progress nor an end
    position = {reply.entries.back().cookie, reply.verifier};
  }
}

}  // namespace nfswalk::nfs
