#include "nfsclient/nfs/open_inode.h"

#include "nfsclient/nfs/silly_rename.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

std::expected<OpenInode, std::errc> OpenInode::Register(Superblock& superblock,
                                                        icache::InodeRef inode) {
  if (!superblock.open_inodes.Add(*inode)) return std::unexpected(protocol::CallDeadline::Error());
  return OpenInode(superblock, std::move(inode));
}

void OpenInode::Discount() {
  if (std::exchange(is_counted_, false)) OpenInodes::Remove(*inode_);
}

OpenInode::~OpenInode() {
  if (!inode_) return;
  if (is_counted_) OpenInodes::Remove(*inode_);
  NFSWALK_SYNC_POINT("open:closed");
  RemoveSillyNames(*superblock_, *inode_);
}

}  // namespace nfswalk::nfs
