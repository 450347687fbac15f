#include "nfsclient/icache/iget_family.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <new>
#include <numeric>
#include <vector>

#include "nfsclient/icache/inode_table.h"
#include "rcu/cpu_index.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"
#include "rcu/mix64.h"
#include "rcu/sync_point.h"
#include "rcu/wait_table.h"

namespace nfswalk::icache {

namespace {

constexpr size_t kPruneBatch = 64;

// A large limit may be exceeded by this fraction before a thread evicts more than it allocated.
constexpr size_t kSlackShare = 32;

// Each thread checks the limit once in so many allocations; at small limits each time.
uint64_t LimitCheckMask(size_t inodes_max) { return inodes_max >= 16'384 ? 31 : 0; }

uint64_t NewSeed() { return uint64_t{arc4random()} << 32 | arc4random(); }

// The shard of the list that the inodes of each processor join.
std::vector<uint32_t> ListShards(ListPolicy policy) {
  switch (policy) {
    case ListPolicy::kSingle:
      return {0};
    case ListPolicy::kSharded: {
      std::vector<uint32_t> own(rcu::CpuCount());
      std::iota(own.begin(), own.end(), 0);
      return own;
    }
    case ListPolicy::kGrouped:
      return rcu::CpuGroups(rcu::CpuCount(), kGroupCpusMax);
    case ListPolicy::kNone:
      return {};
  }
  __builtin_unreachable();
}

// Every cache of the process at its id: an inode holds two bytes of it instead of its address.
constinit std::array<std::atomic<IgetFamily*>, 65'536> families{};

}  // namespace

// Throws std::bad_alloc while there are as many caches as ids.
uint16_t IgetFamily::TakeId() {
  for (size_t id = 0; id < families.size(); ++id) {
    IgetFamily* free = nullptr;
    if (families[id].compare_exchange_strong(free, this, std::memory_order_relaxed)) {
      return static_cast<uint16_t>(id);
    }
  }
  throw std::bad_alloc();
}

IgetFamily::IgetFamily(const InodeCacheOptions& options, InodeOperations& operations)
    : options_(options),
      id_(TakeId()),
      // A shared table needs one hash function.
      seed_(options.share_table_with != nullptr ? options.share_table_with->seed_ : NewSeed()),
      limit_check_mask_(LimitCheckMask(options.inodes_max)),
      limit_(options.inodes_max),
      operations_(operations),
      pool_(TrailerBytes(options.policy.hash)),
      list_(ListShards(options.policy.list)),
      lru_(options.policy.lru == LruPolicy::kSingle ? 1 : ShardsForThisMachine()) {}

IgetFamily::~IgetFamily() {
  rcu::Barrier();
  families[id_].store(nullptr, std::memory_order_relaxed);
}

IgetFamily& IgetFamily::Of(const Inode& inode) {
  return *families[inode.cache_id].load(std::memory_order_relaxed);
}

uint64_t IgetFamily::HashOf(uint64_t fileid) const {
  const uint64_t h = rcu::Mix64((fileid >> InodeHashTraits::kSlotBits) ^ seed_);
  // Permutes the slots by group, so that strides spread too.
  constexpr uint64_t kSlots = uint64_t{1} << InodeHashTraits::kSlotBits;
  const uint64_t slot = (fileid ^ (h >> 8)) & (kSlots - 1);
  return (h & ~(2 * kSlots - 1)) | slot << 1 | 1;
}

// Initializes all but the file system's fields and the identity, which Set() writes.
Inode* IgetFamily::Allocate() {
  Inode* inode = pool_.Allocate();
  if (inode == nullptr) return nullptr;
  inode->cache_id = id_;
  inode->hash.store(0, std::memory_order_relaxed);
  inode->state.store(0, std::memory_order_relaxed);
  inode->flags.store(0, std::memory_order_relaxed);
  inode->cache_validity.store(0, std::memory_order_relaxed);
  inode->fileid = 0;
  inode->opens.Reset();
  inode->handle_size = 0;
  inode->count.store(1, std::memory_order_relaxed);
  CountAllocated();
  return inode;
}

// Counts from allocation to eviction: some inodes are never published.
void IgetFamily::CountAllocated() {
  if ((inodes_.Add(1) & limit_check_mask_) != 0) return;
  const size_t size = this->size();
  const size_t limit = this->limit();
  if (size <= limit) return;
  // Evicts as many as this thread has allocated since its last check: if one thread evicted for
  // all, it would take the other threads' pools' memory.
  const size_t excess = size - limit;
  const size_t own = limit_check_mask_ + 1;
  if (own == 1 || excess > limit / kSlackShare) {
    Prune(std::min(kPruneBatch, excess));
  } else {
    Prune(own);
  }
}

void IgetFamily::FreeUnpublished(Inode* inode) {
  operations_.EvictInode(*inode);
  operations_.DestroyInode(*inode);
  inodes_.Subtract(1);
  pool_.Free(inode);
}

InodeRef IgetFamily::NewInode() { return InodeRef(Allocate()); }

void IgetFamily::Enlist(Inode& inode) { list_.Add(inode); }

// wait_on_inode. Preconditions: a reference.
void IgetFamily::WaitNew(Inode& inode) {
  for (;;) {
    inode.lock.lock();
    if (!inode.Is(kNew)) {
      inode.lock.unlock();
      return;
    }
    const rcu::WaitTable::Ticket ticket = rcu::WaitTable::Prepare(&inode);
    NFSWALK_SYNC_POINT("wait-new:after-ticket");
    inode.lock.unlock();
    rcu::WaitTable::Sleep(ticket);
  }
}

void IgetFamily::UnlockNew(Inode& inode) {
  {
    std::lock_guard lock(inode.lock);
    assert(inode.Is(kNew));
    inode.Reset(kNew | kCreating);
  }
  rcu::WaitTable::Wake(&inode);
}

void IgetFamily::DiscardNew(InodeRef inode) {
  {
    std::lock_guard lock(inode->lock);
    assert(inode->Is(kNew));
    // kCreating stays set: no lookup may return this inode until it is unhashed (INODE-6).
    inode->Reset(kNew);
    inode->flags.store(inode->flags.load(std::memory_order_relaxed) | kUnlinked,
                       std::memory_order_relaxed);
  }
  rcu::WaitTable::Wake(inode.get());
}

void IgetFamily::IgetFailed(InodeRef inode) {
  Unhash(*inode);
  UnlockNew(*inode);
}

InodeRef Hold(Inode& inode) {
  [[maybe_unused]] const uint32_t before = inode.count.fetch_add(1, std::memory_order_relaxed);
  assert(before > 0);
  return InodeRef(&inode);
}

InodeRef TryHold(Inode& inode) {
  uint32_t count = inode.count.load(std::memory_order_relaxed);
  while (count != 0) {
    if (inode.count.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) {
      return InodeRef(&inode);
    }
  }
  return {};
}

InodeRef Grab(Inode& inode) {
  std::lock_guard lock(inode.lock);
  if (inode.Is(kDying)) return {};
  inode.TakeReferenceLocked();
  return InodeRef(&inode);
}

bool IgetFamily::IterGrab(Inode& inode, const IterOptions& options) {
  std::lock_guard lock(inode.lock);
  if (inode.Is(kDying | kNew)) return false;
  // While the superblock goes down, putting a reference on an unused inode would evict it.
  const bool referenced_only =
      options.referenced_only || !Of(inode).active_.load(std::memory_order_relaxed);
  if (referenced_only && inode.count.load(std::memory_order_relaxed) == 0) return false;
  if (options.filter && !options.filter(inode)) return false;
  inode.TakeReferenceLocked();
  return true;
}

void MarkDontCache(Inode& inode) {
  std::lock_guard lock(inode.lock);
  inode.Set(kDontCache);
}

void IgetFamily::MarkDirty(Inode& inode) {
  std::lock_guard lock(inode.lock);
  inode.Set(kDirty);
}

void Put(Inode* inode) {
  rcu::AssertMaySleep();
  uint32_t count = inode->count.load(std::memory_order_relaxed);
  assert(count > 0 && !inode->Is(kClear));
  while (count > 1) {
    if (inode->count.compare_exchange_weak(count, count - 1,
                                           std::memory_order_release)) {  // pairs with PutLast()
      return;
    }
  }
  IgetFamily::Of(*inode).PutLast(inode);
}

// True if an unused inode stays in the cache. Preconditions: its lock.
bool IgetFamily::Keep(const Inode& inode) const {
  const bool forgotten = (inode.flags.load(std::memory_order_relaxed) & (kStale | kUnlinked)) != 0;
  return !forgotten && inode.hashed() && !inode.Is(kDontCache) &&
         active_.load(std::memory_order_relaxed);
}

// iput_final.
void IgetFamily::PutLast(Inode* inode) {
  NFSWALK_SYNC_POINT("iput:before-final");
  {
    std::unique_lock lock(inode->lock);
    assert(!inode->Is(kClear));
    if (!inode->DropReferenceLocked()) return;
    assert(!inode->Is(kNew));
    if (Keep(*inode)) {
      if (inode->lru_shard != kOffList) {
        inode->Set(kUsedAgain);
      } else if (!inode->Is(kDirty)) {  // Sync() puts it there once it is clean
        lru_.Add(*inode);
      }
      return;
    }
    if (inode->Is(kDirty) && inode->hashed() &&
        (inode->flags.load(std::memory_order_relaxed) & (kStale | kUnlinked)) == 0) {
      WriteBack(*inode, lock);
    }
    // In this order: a reader without the lock must never see a dying inode become live.
    inode->Set(kFreeing);
    NFSWALK_SYNC_POINT("iput:freeing");
    inode->Reset(kWillFree);
    lru_.Remove(*inode);
  }
  Evict(inode);
}

// Drops the lock meanwhile; finders wait. Preconditions: the inode's lock; count is 0 and stays so.
void IgetFamily::WriteBack(Inode& inode, std::unique_lock<rcu::SpinLock>& lock) {
  inode.Set(kWillFree);
  inode.Reset(kDirty);
  lock.unlock();
  NFSWALK_SYNC_POINT("iput:writing-back");
  operations_.WriteInode(inode);
  lock.lock();
}

// Preconditions: kFreeing, off the LRU, no lock held. In the order of INODE-9: off the
// list, while finders still wait for it; EvictInode(); out of the hash; DestroyInode().
void IgetFamily::Evict(Inode* inode) {
  rcu::AssertMaySleep();
  assert(inode->Is(kFreeing) && inode->lru_shard == kOffList);
  list_.Remove(*inode);
  NFSWALK_SYNC_POINT("evict:after-sblist-del");
  operations_.EvictInode(*inode);
  {
    std::lock_guard lock(inode->lock);
    inode->Reset(kUsedAgain | kDontCache | kDirty | kCreating);
    inode->Set(kClear);
  }
  NFSWALK_SYNC_POINT("evict:before-unhash");
  Unhash(*inode);
  assert(inode->state.load(std::memory_order_relaxed) == (kFreeing | kClear));
  assert(inode->count.load(std::memory_order_relaxed) == 0);
  assert(!inode->hashed() && inode->list_shard == kOffList && inode->lru_shard == kOffList);
  operations_.DestroyInode(*inode);
  inodes_.Subtract(1);
  pool_.FreeDeferred(inode);
}

size_t IgetFamily::Prune(size_t count) {
  std::array<Inode*, kPruneBatch> victims;
  size_t evicted = 0;
  size_t looks = std::min(2 * count, lru_.size());
  while (evicted < count && looks > 0) {
    size_t found = 0;
    const size_t batch = std::min({count - evicted, looks, kPruneBatch});
    looks -= batch;
    lru_.Shrink(
        batch,
        [](Inode& inode) {
          // Under the list's lock, which ranks below the inode's: trylock.
          if (!inode.lock.try_lock()) return LruVerdict::kSkip;
          std::lock_guard lock(inode.lock, std::adopt_lock);
          NFSWALK_SYNC_POINT("lru:after-trylock");
          // One with kWillFree is evicted by the thread that writes it back.
          if (inode.count.load(std::memory_order_relaxed) > 0 || inode.Is(kDirty | kDying)) {
            inode.Reset(kUsedAgain);
            inode.lru_shard = kOffList;
            return LruVerdict::kRemove;
          }
          if (inode.Is(kUsedAgain)) {
            inode.Reset(kUsedAgain);
            return LruVerdict::kRotate;
          }
          inode.Set(kFreeing);
          inode.lru_shard = kOffList;
          return LruVerdict::kReclaim;
        },
        [&](Inode& inode) { victims[found++] = &inode; });
    for (size_t i = 0; i < found; ++i) Evict(victims[i]);
    evicted += found;
  }
  return evicted;
}

size_t IgetFamily::size() const { return static_cast<size_t>(std::max<int64_t>(inodes_.Sum(), 0)); }
size_t IgetFamily::unused() const { return lru_.size(); }

LockAcquisitions IgetFamily::lock_acquisitions() const {
  LockAcquisitions all = table_lock_acquisitions();
  const bool one_list = options_.policy.list == ListPolicy::kSingle;
  const bool one_lru = options_.policy.lru == LruPolicy::kSingle;
  (one_list ? all.global : all.sharded) += list_.lock_acquisitions();
  (one_lru ? all.global : all.sharded) += lru_.lock_acquisitions();
  all.hottest = std::max(
      {all.hottest, list_.lock_acquisitions_of_hottest(), lru_.lock_acquisitions_of_hottest()});
  return all;
}

}  // namespace nfswalk::icache
