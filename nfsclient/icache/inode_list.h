// inode_list: all inodes of a superblock (s_inodes), for those who must visit every one.
//
// One list under one lock (policy L0), or as many as the machine has processors, of which an inode
// joins that of the thread that adds it and remembers it (L1, the letters' dlist): it may be
// removed by any thread. An inode that is referenced is not removed, so a reference keeps a place
// in the list.
//
// Thread safety: all functions. Lock order: the list's lock, then an inode's.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_LIST_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_LIST_H_

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "nfsclient/icache/inode.h"
#include "rcu/counted_lock.h"

namespace nfswalk::icache {

class InodeList {
 public:
  // At most 254 shards; 0 makes a list that nothing is ever added to (L3).
  explicit InodeList(size_t shards);
  ~InodeList();

  // Preconditions: on no list.
  void Add(Inode& inode);
  // Does nothing if it is on no list. Preconditions: nobody else removes it.
  void Remove(Inode& inode);

  // Looks at all shards one after the other: exact if nobody changes them.
  bool empty() const;

  // A place between two inodes. Nothing is missed or seen twice while others come and go: what is
  // added behind the cursor or to a shard already passed is not seen. Not thread safe.
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
    // On to the next one, of the next shard if need be.
    void Advance();
    // For the time of a call that may block. Preconditions: a reference on current(), which keeps
    // the place, until Relock() has returned.
    void Unlock();
    void Relock();

   private:
    void EnterShard(size_t shard);

    InodeList& list_;
    size_t shard_ = 0;
    bool locked_ = false;
    Inode* current_ = nullptr;
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

  const size_t shard_count_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_LIST_H_
