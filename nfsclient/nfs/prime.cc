#include "nfsclient/nfs/prime.h"

#include <utility>

#include "nfsclient/nfs/lookup.h"
#include "nfsclient/nfs/revalidate.h"

namespace nfswalk::nfs {

using vfs::DentryRef;

DentryRef PrimeName(Superblock& superblock, DentryRef& directory, const vfs::Name& name,
                    const protocol::FileHandle& handle, const protocol::Attributes& attributes,
                    SendStamp stamp, uint64_t cookie, Standing* standing) {
  DentryRef known = superblock.dentries.Lookup(*directory, name);
  if (known) {
    vfs::Inode* inode = known.inode();
    if (inode != nullptr && inode->HasHandle(handle) &&
        UpdateAttributes(superblock, *inode, attributes, stamp, standing) == std::errc{}) {
      StoreVerifier(*known, *directory.inode(), cookie);
      return known;
    }
    superblock.dentries.Drop(*known);
  }
  auto inode = InodeOf(superblock, handle, attributes, stamp, standing);
  if (!inode) return {};
  auto child = SpliceChild(superblock, directory, name, std::move(*inode), cookie);
  // Another thread may have been faster, with what it learned of the name: that is not what this
  // reply tells of.
  const bool ours = child && child->inode() != nullptr && child->inode()->HasHandle(handle);
  return ours ? std::move(*child) : DentryRef();
}

}  // namespace nfswalk::nfs
