#include "nfsclient/nfs/may_create_in_sticky.h"

#include "nfsclient/nfs/may_follow_link.h"

namespace nfswalk::nfs {

namespace {

bool ProtectsFiles(const Superblock& superblock, const icache::Inode& directory) {
  return superblock.options.protected_regular && IsStickyAndWritableForAll(directory);
}

}  // namespace

protocol::CreateMode CreateModeIn(const Superblock& superblock, const icache::Inode& directory) {
  return ProtectsFiles(superblock, directory) ? protocol::CreateMode::kGuardedWithAttributes
                                              : protocol::CreateMode::kUnchecked;
}

bool MayCreateInSticky(const Superblock& superblock, const vfs::DentryRef& directory,
                       icache::Inode& file, const sunrpc_auth::Credential& creator) {
  return !directory || !ProtectsFiles(superblock, *directory.inode()) ||
         IsOwnOrOfDirectory(*directory.inode(), file, creator);
}

}  // namespace nfswalk::nfs
