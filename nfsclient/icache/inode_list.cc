#include "nfsclient/icache/inode_list.h"

#include <algorithm>
#include <cassert>
#include <mutex>

#include "rcu/thread_index.h"

namespace nfswalk::icache {

InodeList::InodeList(size_t shards)
    : shard_count_(shards), shards_(std::make_unique<Shard[]>(shards)) {
  assert(shards < kOffList);
}

InodeList::~InodeList() { assert(empty()); }

void InodeList::Add(Inode& inode) {
  if (shard_count_ == 0) return;
  assert(inode.list_shard == kOffList);
  const size_t index = rcu::ThreadIndex() % shard_count_;
  Shard& shard = shards_[index];
  std::lock_guard guard(shard.lock);
  inode.list_shard = static_cast<uint8_t>(index);
  shard.inodes.push_front(inode);
}

void InodeList::Remove(Inode& inode) {
  // Set before the inode can be found and removed; constant while it is listed.
  if (inode.list_shard == kOffList) return;
  Shard& shard = shards_[inode.list_shard];
  std::lock_guard guard(shard.lock);
  shard.inodes.erase(shard.inodes.iterator_to(inode));
  inode.list_shard = kOffList;
}

bool InodeList::empty() const {
  for (size_t i = 0; i < shard_count_; ++i) {
    std::lock_guard guard(shards_[i].lock);
    if (!shards_[i].inodes.empty()) return false;
  }
  return true;
}

uint64_t InodeList::lock_acquisitions() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < shard_count_; ++i) sum += shards_[i].lock.acquisitions();
  return sum;
}

uint64_t InodeList::lock_acquisitions_of_hottest() const {
  uint64_t most = 0;
  for (size_t i = 0; i < shard_count_; ++i) most = std::max(most, shards_[i].lock.acquisitions());
  return most;
}

InodeList::Cursor::Cursor(InodeList& list) : list_(list) { EnterShard(0); }

InodeList::Cursor::~Cursor() {
  if (locked_) list_.shards_[shard_].lock.unlock();
}

void InodeList::Cursor::EnterShard(size_t shard) {
  current_ = nullptr;
  for (shard_ = shard; shard_ < list_.shard_count_; ++shard_) {
    list_.shards_[shard_].lock.lock();
    if (!list_.shards_[shard_].inodes.empty()) {
      locked_ = true;
      current_ = &list_.shards_[shard_].inodes.front();
      return;
    }
    list_.shards_[shard_].lock.unlock();
  }
}

void InodeList::Cursor::Advance() {
  assert(locked_);
  List& inodes = list_.shards_[shard_].inodes;
  auto next = std::next(inodes.iterator_to(*current_));
  if (next != inodes.end()) {
    current_ = &*next;
    return;
  }
  Unlock();
  EnterShard(shard_ + 1);
}

void InodeList::Cursor::Unlock() {
  assert(locked_);
  locked_ = false;
  list_.shards_[shard_].lock.unlock();
}

void InodeList::Cursor::Relock() {
  assert(!locked_);
  list_.shards_[shard_].lock.lock();
  locked_ = true;
}

}  // namespace nfswalk::icache
