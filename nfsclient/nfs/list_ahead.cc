#include "nfsclient/nfs/list_ahead.h"

#include "nfsclient/nfs/readdir.h"

namespace nfswalk::nfs {

void ListAhead(Superblock& superblock, vfs::DentryRef& directory,
               const sunrpc_auth::Credential& credential) {
  if (!directory.inode()->lookup_misses.TakeReaddirHint()) return;
  const MountOptions& options = superblock.options;
  if (!options.rdirplus || superblock.acdirmin_ns == 0 ||
      options.lookupcache == LookupCache::kNone) {
    return;
  }
  size_t entries = 0;
  (void)ReadDirectory(superblock, directory, credential,
                      [&](const protocol::DirectoryEntry&) { return ++entries < kEntriesMax; });
}

}  // namespace nfswalk::nfs
