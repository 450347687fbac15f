// inode_ref: counted references on inodes: ihold(), igrab() and iput() of fs/inode.c.
//
// Thread safety: the functions from any thread; an InodeRef as any value.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_REF_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_REF_H_

#include <utility>

#include "nfsclient/icache/inode.h"

namespace nfswalk::icache {

// iput: drops a reference. The last one may evict the inode, which may block. Preconditions: no
// spinning lock held, no RCU section.
void Put(Inode* inode);

// A counted reference. Move-only.
class InodeRef {
 public:
  InodeRef() = default;
  // Takes over a reference that the caller holds.
  explicit InodeRef(Inode* inode) : inode_(inode) {}
  InodeRef(InodeRef&& other) noexcept : inode_(std::exchange(other.inode_, nullptr)) {}
  InodeRef& operator=(InodeRef&& other) noexcept {
    std::swap(inode_, other.inode_);
    return *this;
  }
  ~InodeRef() {
    if (inode_ != nullptr) Put(inode_);
  }

  Inode* get() const { return inode_; }
  Inode* operator->() const { return inode_; }
  Inode& operator*() const { return *inode_; }
  explicit operator bool() const { return inode_ != nullptr; }
  // Hands the reference to the caller, who must Put() it.
  Inode* release() { return std::exchange(inode_, nullptr); }

 private:
  Inode* inode_ = nullptr;
};

// ihold. Preconditions: the caller holds a reference, or a dentry that does.
InodeRef Hold(Inode& inode);
// Hold() where only the inode's memory is safe; empty if there is no reference yet. Any context.
InodeRef TryHold(Inode& inode);
// igrab: empty if the inode is dying. Preconditions: the inode's memory is safe. Any context that
// may take a spinning lock.
InodeRef Grab(Inode& inode);

// d_mark_dontcache, of the inode: it is evicted with its last reference (I_DONTCACHE); if dirty,
// written back first. Preconditions: a reference.
void MarkDontCache(Inode& inode);

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_REF_H_
