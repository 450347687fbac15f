// nfs_inode: the identity of an NFS inode (nfs_find_actor()), and its eviction (nfs_evict_inode()).
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_NFS_INODE_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_NFS_INODE_H_

#include <cstdint>
#include <memory>
#include <system_error>

#include "access_cache/access_lru.h"
#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/icache/inode_index.h"
#include "nfsclient/icache/inode_operations.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/types.h"
#include "nfsclient/superblock/departed_inodes.h"
#include "rcu/byte_pool.h"

namespace nfswalk::nfs {

// Handle, file id and type. A stale inode matches nothing; a new one is created beside it
// (INODE-11). Refers to its arguments.
class FileIdentity final : public icache::InodeIdentity {
 public:
  FileIdentity(const protocol::FileHandle& handle, uint64_t fileid, protocol::FileType type,
               rcu::BytePool& bytes)
      : handle_(handle), fileid_(fileid), type_(type), bytes_(bytes) {}

  bool Test(const icache::Inode& inode) const override;
  // not_enough_memory for a long handle.
  std::errc Set(icache::Inode& inode) override;

 private:
  const protocol::FileHandle& handle_;
  const uint64_t fileid_;
  const protocol::FileType type_;
  rcu::BytePool& bytes_;
};

// Thread safety: as InodeOperations.
class InodeOperations final : public icache::InodeOperations {
 public:
  // `access_lru` and `departed` outlive it. Keeps an index if the policy asks for it. Throws
  // std::bad_alloc.
  InodeOperations(const icache::InodePolicy& policy, access_cache::AccessLru& access_lru,
                  DepartedInodes& departed);

  // No inode is ever dirty: what is not sent yet is in data/write_back.h, its size included.
  void EvictInode(icache::Inode& inode) override;
  void DestroyInode(icache::Inode& inode) override;
  std::shared_ptr<icache::InodeIndex> index() override { return index_; }
  bool can_iterate() const override { return index_ != nullptr; }
  std::errc IterInodes(const icache::IterOptions& options,
                       const icache::InodeVisitor& visit) override {
    return index_->IterInodes(options, visit);
  }
  std::errc IterInodesUnsafe(const icache::UnsafeInodeVisitor& visit) override {
    return index_->IterInodesUnsafe(visit);
  }

  // Allocates symbolic links' texts and long handles.
  rcu::BytePool& bytes() { return bytes_; }

 private:
  access_cache::AccessLru& access_lru_;
  DepartedInodes& departed_;
  rcu::BytePool bytes_;
  const std::shared_ptr<icache::InodeIndex> index_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_NFS_INODE_H_
