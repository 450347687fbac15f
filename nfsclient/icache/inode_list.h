// inode_list: all inodes of a superblock (s_inodes), for iteration.
//
// One list under one lock (policy L0), or a shard for each processor (L1, dlist of the VFS
// scalability letter) or group of processors (L2, the RCU find_inode letter): an inode joins the
// shard of the processor that adds it and records it, so that any thread may remove it. A
// referenced inode is not removed: a reference pins its place in the list.
//
// Thread safety: all functions. Lock order: the list's lock, then an inode's.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_LIST_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_LIST_H_

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "rcu/counted_lock.h"

namespace nfswalk::icache {

class InodeList {
 public:
  // The shard of each processor; processors beyond these begin again at the first, as shards do
  // beyond 254. Empty for policy L3, which adds nothing. Throws std::bad_alloc.
  explicit InodeList(std::vector<uint32_t> shard_of_cpu);
  ~InodeList();

  // Preconditions: on no list.
  void Add(Inode& inode);
  // Does nothing if it is on no list. Preconditions: no concurrent Remove() of the inode.
  void Remove(Inode& inode);

  // Checks the shards one after the other: exact if none changes.
  bool empty() const;

  // A position in the list. Visits every inode that stays on it exactly once while others come and
  // go; not those added behind it or to a shard already passed. Not thread safe.
  class Cursor {
   public:
    // Locks the first shard that is not empty.
    explicit Cursor(InodeList& list);
    // Unlocks, if it is locked.
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    // The inode under the cursor, or nullptr at the end. Preconditions: locked, or at the end.
    Inode* current() const { return current_; }
    // Moves to the next inode, or to the next shard.
    void Advance();
    // Around a call that may block. Preconditions: a reference on current(), which pins the
    // position, until Relock() has returned.
    void Unlock();
    void Relock();
    // Calls `meanwhile`, which may block, without the lock and without a reference on current(),
    // which may leave the list: a marker keeps the place (DCACHE_DENTRY_CURSOR of fs/libfs.c).
    // Other threads that wait for the lock get it.
    template <class Meanwhile>
    void LetGo(Meanwhile&& meanwhile) {
      if (current_ == nullptr) return meanwhile();
      LeaveMarker();
      meanwhile();
      ReturnToMarker();
    }

   private:
    void EnterShard(size_t shard);
    void ContinueAt(Inode* next);
    void LeaveMarker();
    void ReturnToMarker();

    InodeList& list_;
    size_t shard_ = 0;
    bool locked_ = false;
    Inode* current_ = nullptr;
    Inode marker_;
  };

  size_t shards() const { return shard_count_; }
  uint64_t lock_acquisitions() const;
  uint64_t lock_acquisitions_of_hottest() const;

 private:
  using Hook =
      boost::intrusive::member_hook<Inode, boost::intrusive::list_member_hook<>, &Inode::list_hook>;
  using List = boost::intrusive::list<Inode, Hook, boost::intrusive::constant_time_size<false>>;
  struct alignas(64) Shard {
    mutable rcu::CountedLock lock{rcu::LockClass::kSuperblockList};
    List inodes;
  };

  const std::vector<uint32_t> shard_of_cpu_;
  const size_t shard_count_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_LIST_H_
