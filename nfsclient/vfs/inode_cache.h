// inode_cache: all inodes of a mount, found by file handle.
//
// One global lock, first lookup under RCU (policy H1 of icache 2.3): a hit takes no hash lock, a
// miss looks again under the lock before it inserts, so a false negative of the lockless search
// costs time and nothing else. An inode is complete before it is published (its attributes came
// with its handle), hence there is no I_NEW; it leaves the hash in the same critical section that
// makes it dying, hence nobody waits for one that is being freed.
//
// Thread safety: all calls from any thread, except that a caller holds no spin lock.
#ifndef NFSWALK_NFSCLIENT_VFS_INODE_CACHE_H_
#define NFSWALK_NFSCLIENT_VFS_INODE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "access_cache/access_lru.h"
#include "nfsclient/protocol/attributes.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/vfs/inode.h"
#include "nfsclient/vfs/lru_list.h"
#include "rcu/byte_pool.h"
#include "rcu/hash_table.h"
#include "rcu/object_pool.h"
#include "rcu/spin_lock.h"

namespace nfswalk::vfs {

class InodeCache;

// A counted reference. Move-only; dropping it may destroy the inode.
class InodeRef {
 public:
  InodeRef() = default;
  InodeRef(InodeCache* cache, Inode* inode) : cache_(cache), inode_(inode) {}
  InodeRef(InodeRef&& other) noexcept
      : cache_(other.cache_), inode_(std::exchange(other.inode_, nullptr)) {}
  InodeRef& operator=(InodeRef&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  ~InodeRef();

  Inode* get() const { return inode_; }
  Inode* operator->() const { return inode_; }
  Inode& operator*() const { return *inode_; }
  explicit operator bool() const { return inode_ != nullptr; }
  // Hands the reference to the caller, who must Put() it.
  Inode* release() { return std::exchange(inode_, nullptr); }

 private:
  InodeCache* cache_ = nullptr;
  Inode* inode_ = nullptr;
};

class InodeCache {
 public:
  // Limits: see MountOptions. `access_lru` outlives the cache.
  InodeCache(size_t inodes_max, access_cache::AccessLru& access_lru);
  ~InodeCache();

  // iget5_locked_rcu: the inode with this handle, created if need be. `fill` completes a new inode
  // before anybody can see it. Empty if memory is out.
  InodeRef Get(const protocol::FileHandle& handle, uint64_t fileid, protocol::FileType type,
               const std::function<void(Inode&)>& fill);

  // Preconditions: the caller holds a reference, or a dentry that does.
  InodeRef Grab(Inode& inode);

  // iput. The last reference leaves the inode cached, unless the server forgot it.
  void Put(Inode* inode);

  // The next last reference destroys it; no lookup finds it any more.
  void Unhash(Inode& inode);

  // Destroys up to `count` unused inodes; returns how many.
  size_t Prune(size_t count);

  // Where the texts of symbolic links live.
  rcu::BytePool& bytes() { return bytes_; }

  size_t size() const { return live_.load(std::memory_order_relaxed); }

 private:
  struct Traits {
    static std::atomic<Inode*>& Next(Inode& inode) { return inode.hash_next; }
    static uint64_t Hash(const Inode& inode) { return inode.hash.load(std::memory_order_relaxed); }
  };
  struct Key;

  Inode* FindAndGrab(const Key& key);
  Inode* Allocate(const Key& key);
  void FreeUnpublished(Inode* inode);
  bool TryGrab(Inode& inode);
  void UnhashLocked(Inode& inode);
  void Destroy(Inode* inode);

  const size_t inodes_max_;
  access_cache::AccessLru& access_lru_;
  rcu::ObjectPool<Inode> pool_;
  rcu::BytePool bytes_;
  // Serialises insertion and removal; the chains' own locks are below it.
  rcu::SpinLock hash_lock_{rcu::LockClass::kRename};
  rcu::HashTable<Inode, Traits> table_;
  LruList<Inode> lru_;
  std::atomic<size_t> live_{0};
};

inline InodeRef::~InodeRef() {
  if (inode_ != nullptr) cache_->Put(inode_);
}

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_INODE_CACHE_H_
