#include "nfsclient/nfs/readdir.h"

#include <utility>

#include "nfsclient/nfs/lookup.h"
#include "nfsclient/nfs/revalidate.h"

namespace nfswalk::nfs {

namespace {

// Puts one entry into the caches. `cookie` is the directory's from before the RPC.
void Prime(Superblock& superblock, vfs::DentryRef& directory, const protocol::DirectoryEntry& entry,
           SendStamp stamp, uint64_t cookie) {
  if (!entry.attributes || !entry.handle || entry.name.size() > vfs::kNameMax) return;
  vfs::PaddedName padded(entry.name, directory.get());
  const vfs::Name& name = padded.name();
  vfs::DentryRef known = superblock.dentries.Lookup(*directory, name);
  if (known) {
    vfs::Inode* inode = known.inode();
    if (inode != nullptr && inode->HasHandle(*entry.handle) &&
        UpdateAttributes(superblock, *inode, *entry.attributes, stamp) == std::errc{}) {
      StoreVerifier(*known, *directory.inode(), cookie);
      return;
    }
    superblock.dentries.Drop(*known);
  }
  auto inode = InodeOf(superblock, *entry.handle, *entry.attributes, stamp);
  // Priming is a gift: what does not fit is looked up when somebody asks for it.
  if (inode) (void)SpliceChild(superblock, directory, name, std::move(*inode), cookie);
}

}  // namespace

std::errc ReadDirectory(Superblock& superblock, vfs::DentryRef& directory,
                        const sunrpc_auth::Credential& credential,
                        const std::function<bool(const protocol::DirectoryEntry&)>& visit) {
  vfs::Inode& inode = *directory.inode();
  protocol::ReadDirPosition position;
  for (;;) {
    protocol::ReadDirReply reply;
    {
      auto lock = superblock.directory_locks.LockShared(inode);
      SendStamp stamp = Stamp(superblock);
      uint64_t cookie = inode.cookie.load(std::memory_order_relaxed);
      reply = superblock.protocol->ReadDir(inode.handle(), position, true, credential);
      if (reply.directory) UpdateAttributes(superblock, inode, *reply.directory, stamp);
      if (reply.error == protocol::kStale) MarkStale(superblock, inode);
      if (reply.error != std::errc{}) return reply.error;
      for (const auto& entry : reply.entries) {
        if (entry.name == "." || entry.name == "..") continue;
        Prime(superblock, directory, entry, stamp, cookie);
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
