// open_inode: an inode as it is held while it is open. A removal of its last name asks whether
// there are any (superblock/open_inodes.h counts them), and the end of the last one removes what
// was hidden for it (silly_rename.h).
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_NFS_OPEN_INODE_H_
#define NFSWALK_NFSCLIENT_NFS_OPEN_INODE_H_

#include <expected>
#include <optional>
#include <system_error>
#include <utility>

#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/superblock/open_inodes.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::nfs {

// An inode that is open: what File holds. The destructor may send the REMOVE of NAME-31, and block
// for it as any call.
class OpenInode {
 public:
  // Before the server is asked to open it. Waits for a removal of a name of the inode: whether that
  // was the last, its flags say afterwards. Errors: timed_out.
  static std::expected<OpenInode, std::errc> Register(Superblock& superblock,
                                                      icache::InodeRef inode);
  // Register() without waiting, in any context. Takes over `inode` unless there is a removal.
  static std::optional<OpenInode> TryRegister(Superblock& superblock, icache::InodeRef& inode) {
    if (!OpenInodes::TryAdd(*inode)) return std::nullopt;
    return OpenInode(superblock, std::move(inode));
  }
  OpenInode(OpenInode&&) noexcept = default;
  OpenInode& operator=(OpenInode&& other) noexcept {
    std::swap(superblock_, other.superblock_);
    std::swap(inode_, other.inode_);
    std::swap(is_counted_, other.is_counted_);
    return *this;
  }
  ~OpenInode();

  // It does not count as open from now on. What is hidden for it is removed by the destructor.
  void Discount();

  icache::Inode& operator*() const { return *inode_; }
  icache::Inode* operator->() const { return inode_.get(); }

 private:
  OpenInode(Superblock& superblock, icache::InodeRef inode)
      : superblock_(&superblock), inode_(std::move(inode)) {}

  Superblock* superblock_;
  icache::InodeRef inode_;
  bool is_counted_ = true;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_OPEN_INODE_H_
