// inode_lru: the unused inodes of a mount, in one LRU (policy U0) or in several (U1; INODE-19).
//
// An inode records its shard. With several shards the LRU order holds within each.
//
// Thread safety: as LruList.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_LRU_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_LRU_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "nfsclient/icache/inode.h"
#include "nfsclient/icache/lru_list.h"
#include "rcu/thread_index.h"

namespace nfswalk::icache {

class InodeLru {
 public:
  // At most 254 shards.
  explicit InodeLru(size_t shards)
      : shard_count_(shards), shards_(std::make_unique<LruList<Inode>[]>(shards)) {
    assert(shards < kOffList);
  }

  // Preconditions: the inode's lock; not on the LRU.
  void Add(Inode& inode) {
    inode.lru_shard = static_cast<uint8_t>(rcu::ThreadIndex() % shard_count_);
    shards_[inode.lru_shard].Add(inode);
  }
  // Does nothing if the inode is not on it. Preconditions: the inode's lock.
  void Remove(Inode& inode) {
    const uint8_t shard = std::exchange(inode.lru_shard, kOffList);
    if (shard != kOffList) shards_[shard].Remove(inode);
  }

  // As LruList::Shrink(), first in the shard of the calling thread.
  template <class Isolate, class Take>
  void Shrink(size_t count, Isolate&& isolate, Take&& take) {
    const size_t first = rcu::ThreadIndex() % shard_count_;
    for (size_t i = 0; i < shard_count_ && count > 0; ++i) {
      LruList<Inode>& shard = shards_[(first + i) % shard_count_];
      const size_t here = std::min(count, shard.size());
      if (here > 0) shard.Shrink(here, isolate, take);
      count -= here;
    }
  }

  // Relaxed: a recent value.
  size_t size() const {
    size_t sum = 0;
    for (size_t i = 0; i < shard_count_; ++i) sum += shards_[i].size();
    return sum;
  }
  size_t shards() const { return shard_count_; }
  uint64_t lock_acquisitions() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < shard_count_; ++i) sum += shards_[i].lock_acquisitions();
    return sum;
  }
  uint64_t lock_acquisitions_of_hottest() const {
    uint64_t most = 0;
    for (size_t i = 0; i < shard_count_; ++i) {
      most = std::max(most, shards_[i].lock_acquisitions());
    }
    return most;
  }

 private:
  const size_t shard_count_;
  const std::unique_ptr<LruList<Inode>[]> shards_;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_LRU_H_
