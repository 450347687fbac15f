#include "nfsclient/icache/inode_list.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "rcu/cpu_index.h"
#include "rcu/sync_point.h"

namespace nfswalk::icache {

namespace {

// The first inode from `place` on that is no cursor's marker; nullptr if there is none.
template <class List>
Inode* FirstInode(List& inodes, typename List::iterator place) {
  while (place != inodes.end() && place->Is(kCursor)) ++place;
  return place != inodes.end() ? &*place : nullptr;
}

}  // namespace

InodeList::InodeList(std::vector<uint32_t> shard_of_cpu)
    : shard_of_cpu_(std::move(shard_of_cpu)),
      shard_count_(shard_of_cpu_.empty()
                       ? 0
                       : std::min<size_t>(1 + std::ranges::max(shard_of_cpu_), kOffList - 1)),
      shards_(std::make_unique<Shard[]>(shard_count_)) {}

InodeList::~InodeList() { assert(empty()); }

void InodeList::Add(Inode& inode) {
  if (shard_count_ == 0) return;
  assert(inode.list_shard == kOffList);
  const size_t index = shard_of_cpu_[rcu::CpuIndex() % shard_of_cpu_.size()] % shard_count_;
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

InodeList::Cursor::Cursor(InodeList& list) : list_(list) {
  marker_.state = kCursor;
  EnterShard(0);
}

InodeList::Cursor::~Cursor() {
  assert(current_ != &marker_);
  if (locked_) list_.shards_[shard_].lock.unlock();
}

void InodeList::Cursor::EnterShard(size_t shard) {
  current_ = nullptr;
  for (shard_ = shard; shard_ < list_.shard_count_; ++shard_) {
    list_.shards_[shard_].lock.lock();
    List& inodes = list_.shards_[shard_].inodes;
    current_ = FirstInode(inodes, inodes.begin());
    locked_ = current_ != nullptr;
    if (locked_) return;
    list_.shards_[shard_].lock.unlock();
  }
}

void InodeList::Cursor::Advance() {
  assert(locked_);
  List& inodes = list_.shards_[shard_].inodes;
  ContinueAt(FirstInode(inodes, std::next(inodes.iterator_to(*current_))));
}

void InodeList::Cursor::ContinueAt(Inode* next) {
  current_ = next;
  if (next != nullptr) return;
  Unlock();
  EnterShard(shard_ + 1);
}

void InodeList::Cursor::LeaveMarker() {
  List& inodes = list_.shards_[shard_].inodes;
  inodes.insert(inodes.iterator_to(*current_), marker_);
  current_ = &marker_;
  Unlock();
  NFSWALK_SYNC_POINT("list:let-go");
  std::this_thread::yield();  // cond_resched(): a thread that spins for the lock needs a moment
}

void InodeList::Cursor::ReturnToMarker() {
  Relock();
  List& inodes = list_.shards_[shard_].inodes;
  ContinueAt(FirstInode(inodes, inodes.erase(inodes.iterator_to(marker_))));
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
