#include "nfsclient/nfs/prime.h"

#include <utility>

#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/splice.h"

namespace nfswalk::nfs {

using vfs::DentryRef;

DentryRef PrimeName(Superblock& superblock, DentryRef& directory, const vfs::Name& name,
                    const protocol::FileHandle& handle, const protocol::Attributes& attributes,
                    SendStamp stamp, uint64_t change_id, ReplyContext* context) {
  if (superblock.open_inodes.IsHidden(*directory.inode(), name.view())) return {};
  DentryRef known = superblock.dentries.Lookup(*directory, name);
  if (known) {
    icache::Inode* inode = known.inode();
    if (inode != nullptr && inode->HasHandle(handle) &&
        UpdateAttributes(superblock, *inode, attributes, stamp, context) == std::errc{}) {
      StoreVerifier(*known, *directory.inode(), change_id);
      return known;
    }
    if (VerifierMatches(*known, *directory.inode())) change_id = kNoChangeId;
    superblock.dentries.Drop(*known);
    superblock.invalidations.Post(InvalidReason::kName, *directory.inode(), name.view());
  }
  auto inode = FetchInode(superblock, handle, attributes, stamp, context);
  if (!inode) return {};
  auto child = SpliceChild(superblock, directory, name, std::move(*inode), change_id);
  // Another thread may have installed the name first, from another reply.
  const bool ours = child && child->inode() != nullptr && child->inode()->HasHandle(handle);
  return ours ? std::move(*child) : DentryRef();
}

}  // namespace nfswalk::nfs
