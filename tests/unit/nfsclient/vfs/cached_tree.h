// cached_tree: a dentry cache with inodes of its own, without a server, and operations on both.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_VFS_CACHED_TREE_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_VFS_CACHED_TREE_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "access_cache/access_lru.h"
#include "nfsclient/icache/iget_family.h"
#include "nfsclient/superblock/nfs_inode.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "rcu/read_guard.h"

namespace nfswalk::vfs {

class CachedTree {
 public:
  // `buckets` and `names_per_chain`: as in DentryCache.
  explicit CachedTree(size_t dentries_max = 1'000'000, size_t buckets = 1024,
                      size_t names_per_chain = 1)
      : inodes_(*icache::IgetFamily::Create({.inodes_max = 1'000'000}, operations_)),
        dentries_(directory_changes_, dentries_max, buckets, names_per_chain),
        root_(dentries_.MakeRoot(NewInode(1, protocol::FileType::kDirectory))) {}

  DentryCache& dentries() { return dentries_; }
  icache::IgetFamily& inodes() { return *inodes_; }
  DentryRef& root() { return root_; }

  icache::InodeRef NewInode(uint64_t fileid, protocol::FileType type) {
    uint8_t bytes[sizeof fileid];
    std::memcpy(bytes, &fileid, sizeof fileid);
    const protocol::FileHandle handle(bytes);
    nfs::FileIdentity identity(handle, fileid, type, operations_.bytes());
    icache::FoundInode found = std::move(*inodes_->Iget5Rcu(inodes_->HashOf(fileid), identity));
    if (found.is_new) inodes_->UnlockNew(*found.inode);
    return std::move(found.inode);
  }
  DentryRef Add(DentryRef& parent, std::string_view name, uint64_t fileid,
                protocol::FileType type = protocol::FileType::kRegular) {
    PaddedName padded(name, parent.get());
    return dentries_.Insert(*parent, padded.name(), NewInode(fileid, type), 0);
  }
  DentryRef AddNegative(DentryRef& parent, std::string_view name) {
    PaddedName padded(name, parent.get());
    return dentries_.Insert(*parent, padded.name(), {}, 0);
  }
  DentryRef Lookup(DentryRef& parent, std::string_view name) {
    PaddedName padded(name, parent.get());
    return dentries_.Lookup(*parent, padded.name());
  }
  // The file id of a name found under RCU; 0 if not cached, or changed meanwhile.
  uint64_t FindRcu(const DentryRef& parent, std::string_view name) const {
    PaddedName padded(name, parent.get());
    rcu::ReadGuard guard;
    uint64_t seq = 0;
    const Dentry* found = dentries_.FindRcu(parent.get(), padded.name(), &seq);
    if (found == nullptr) return 0;
    const icache::Inode* inode = found->inode.load();
    const uint64_t fileid = inode != nullptr ? inode->fileid : 0;
    return found->seq.Changed(seq) ? 0 : fileid;
  }
  std::errc Move(DentryRef& dentry, DentryRef& parent, std::string_view name,
                 uint64_t verifier = 0) {
    PaddedName padded(name, parent.get());
    return dentries_.Move(*dentry, *parent, padded.name(), verifier);
  }

 private:
  rcu::KeyedChangeCount directory_changes_;
  access_cache::AccessLru access_lru_{1000, directory_changes_};
  nfs::DepartedInodes departed_;
  nfs::InodeOperations operations_{icache::InodePolicy{}, access_lru_, departed_};
  std::unique_ptr<icache::IgetFamily> inodes_;
  DentryCache dentries_;
  DentryRef root_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_VFS_CACHED_TREE_H_
