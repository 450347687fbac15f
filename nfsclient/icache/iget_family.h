// iget_family: the whole interface of fs/inode.c: the iget family, reclaim and iteration.
//
// Contract    At most one inode of a key is live: hashed, not dying and accepted by its identity's
//             Test(). Calls named Rcu search without a lock first if the policy says so, and again
//             under the chain's lock before they insert.
// Data        field                  | written under             | read
//             Inode::state, lru      | Inode::lock               | under it; without it: a hint
//             Inode::hash, link      | chain lock + Inode::lock  | RCU; a false negative is legal
//             Inode::count           | atomically; 0 -> 1 and    | the last reference is decided
//                                    |   1 -> 0 under the lock   |   under the lock
//             Inode identity         | unpublished               | RCU, immutable while hashed
// Invariants  I1 kFreeing is for ever, and its count stays 0. I2 a dying inode stays in the hash
//             until EvictInode() returns; finders wait for that, so that two inodes of one file
//             never coexist. I3 an inode with references is neither evicted nor removed from the
//             superblock's list. I4 unhashing wakes the waiters; no thread sleeps on an unhashed
//             inode.
// Protocol    locked: lock chain; find; lock inode; dying ? wait, from the start : take reference.
//             here:   RCU; find; lock inode; the same; unhashed ? from the start without a sleep.
// Ordering    the inode's lock orders finders, waiters and evict; O1 table insert -> FindRcu(): a
//             found inode has its identity.
// Staleness   an RCU lookup may miss an inode that is being inserted or whose bucket moves.
// Progress    a finder restarts once for each dying inode it meets; dying ends with its evict.
// Lifetime    a reference, or an RCU section: memory is reused a grace period after evict.
// Tests       tests/unit/nfsclient/icache/inode_*_test.cc, tests/race/inode_*_test.cc
#ifndef NFSWALK_NFSCLIENT_ICACHE_IGET_FAMILY_H_
#define NFSWALK_NFSCLIENT_ICACHE_IGET_FAMILY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/icache/inode_list.h"
#include "nfsclient/icache/inode_lru.h"
#include "rcu/counters.h"
#include "rcu/object_pool.h"

namespace nfswalk::icache {

// Thread safety: every function from any thread. No function that takes or drops a reference, and
// none that iterates, may be called with a spinning lock held or, unless it says so, inside an RCU
// section.
class IgetFamily : public InodeCache {
 public:
  // As InodeCache::Create().
  static std::expected<std::unique_ptr<IgetFamily>, std::string> Create(
      const InodeCacheOptions& options, InodeOperations& operations);
  ~IgetFamily() override;
  IgetFamily(const IgetFamily&) = delete;
  IgetFamily& operator=(const IgetFamily&) = delete;

  // The key of the table: two rounds of a 64-bit finaliser under a seed of the superblock's own,
  // since file ids use high bits and strides (INODE-15). Eight file ids in a row, as files created
  // together have, differ in the slot alone: their heads share a cache line. Never 0.
  uint64_t HashOf(uint64_t fileid) const;

  IgetResult Fetch(uint64_t fileid, InodeIdentity& identity) final {
    return Iget5Rcu(HashOf(fileid), identity);
  }
  // Lookup by file id alone. All calls that find an inode wait until it is neither new nor dying.
  virtual IgetResult Iget(uint64_t fileid) = 0;   // iget_locked
  virtual InodeRef Ilookup(uint64_t fileid) = 0;  // ilookup; empty if there is none
  // Lookup by hash and identity.
  virtual IgetResult Iget5(uint64_t hash, InodeIdentity& identity) = 0;
  virtual IgetResult Iget5Rcu(uint64_t hash, InodeIdentity& identity) = 0;
  virtual InodeRef Ilookup5(uint64_t hash, const InodeIdentity& identity) = 0;
  virtual InodeRef Ilookup5Rcu(uint64_t hash, const InodeIdentity& identity) = 0;
  // Waits for a dying inode, not for kNew.
  virtual InodeRef Ilookup5NoWait(uint64_t hash, const InodeIdentity& identity) = 0;
  virtual InodeRef Ilookup5NoWaitRcu(uint64_t hash, const InodeIdentity& identity) = 0;

  enum class Take : uint8_t { kNext, kTake, kStop };
  // Never sleeps (find_inode_nowait). `match` runs under the chain's lock; for kTake it has taken a
  // reference under the inode's lock, which becomes the result.
  virtual InodeRef FindNoWait(uint64_t hash, const std::function<Take(Inode&)>& match) = 0;
  // find_inode_rcu: without a reference; the caller must not take one. Skips dying inodes.
  // Preconditions: RCU section.
  virtual const Inode* FindRcu(uint64_t hash, const InodeIdentity& identity) const = 0;

  // new_inode_pseudo: an unhashed inode of this superblock; empty without memory.
  InodeRef NewInode();
  // inode_insert5: the existing inode, or `fresh` with this identity, locked by kNew.
  virtual IgetResult Insert5(InodeRef fresh, uint64_t hash, InodeIdentity& identity) = 0;
  // insert_inode_locked: inserts a file that is being created under fresh->fileid, beside dying
  // inodes. device_or_resource_busy if the key is taken.
  virtual std::errc InsertLocked(Inode& fresh) = 0;

  void UnlockNew(Inode& inode) final;
  // remove_inode_hash: no lookup finds the inode any more; its last reference evicts it. A client
  // has no use for it: a second inode of the file could be created beside this one (INODE-27).
  virtual void Unhash(Inode& inode) = 0;
  // discard_new_inode: the inode is evicted with its last reference; if it came from
  // InsertLocked(), no lookup finds it until then.
  void DiscardNew(InodeRef inode);
  // iget_failed: unhashes an inode that could not be filled in; its waiters start again.
  void IgetFailed(InodeRef inode);

  // mark_inode_dirty: WriteInode() will be called for it.
  void MarkDirty(Inode& inode);

  size_t Prune(size_t count) final;
  void SetLimit(size_t inodes_max) final { limit_ = inodes_max; }
  size_t limit() const final { return limit_; }
  void Trim() final { pool_.Trim(); }

  std::errc IterInodes(const IterOptions& options, const InodeVisitor& visit) final;
  // IterInodes() without references, in any state: visit() runs in an RCU section, under the list's
  // lock if there is a list; only the memory is safe (INODE-17). Lets go of both after each batch.
  std::errc IterInodesUnsafe(const UnsafeInodeVisitor& visitor);
  // For iter_inodes operations: takes the reference that IterInodes() would take; false if it skips
  // the inode, as it does with unreferenced ones once SB_ACTIVE is cleared.
  static bool IterGrab(Inode& inode, const IterOptions& options);

  size_t EvictUnused() final;
  // Writes back all dirty inodes; returns the first error after all were tried.
  std::errc Sync();
  // Inodes with references, hashed or not; exact without concurrent changes.
  size_t CountBusy();
  // generic_shutdown_super: syncs, clears SB_ACTIVE, evicts all (INODE-18); inodes that cannot be
  // written back are lost. Returns the number of inodes that are still referenced, which are
  // evicted with their last reference.
  size_t Unmount();

  size_t size() const final;
  size_t unused() const;  // on the LRU
  const InodePolicy& policy() const { return options_.policy; }
  LockAcquisitions lock_acquisitions() const final;
  // The cache that an inode belongs to.
  static IgetFamily& Of(const Inode& inode);
  bool Owns(const Inode& inode) const { return inode.cache_id == id_; }

  // Memory of the inodes, without the table.
  size_t inode_bytes() const { return pool_.capacity_bytes(); }
  // Calls fn for the length of each chain (INODE-15). Nothing for kLfht.
  virtual void ForEachChain(const std::function<void(size_t)>& fn) = 0;

 protected:
  IgetFamily(const InodeCacheOptions& options, InodeOperations& operations);

  virtual LockAcquisitions table_lock_acquisitions() const = 0;

  // Evicts unused inodes beyond the limit.
  Inode* Allocate();
  void FreeUnpublished(Inode* inode);
  // inode_sb_list_add, after the inode was published.
  void Enlist(Inode& inode);
  static void WaitNew(Inode& inode);

 private:
  friend void Put(Inode* inode);

  uint16_t TakeId();
  void CountAllocated();
  bool Keep(const Inode& inode) const;
  void PutLast(Inode* inode);
  void WriteBack(Inode& inode, std::unique_lock<rcu::SpinLock>& lock);
  void Evict(Inode* inode);
  std::errc SyncInode(Inode& inode);

  const InodeCacheOptions options_;
  const uint16_t id_;  // among those of the process
  const uint64_t seed_;
  const uint64_t limit_check_mask_;
  std::atomic<size_t> limit_;
  InodeOperations& operations_;
  rcu::ObjectPool<Inode> pool_;
  InodeList list_;
  InodeLru lru_;
  rcu::ShardedCounter inodes_;
  std::atomic<bool> active_{true};  // SB_ACTIVE
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_IGET_FAMILY_H_
