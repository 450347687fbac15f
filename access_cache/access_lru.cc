#include "access_cache/access_lru.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "access_cache/access_cache.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"

namespace nfswalk::access_cache {

namespace {

// Drops the credential only now, when no reader compares with it any more.
void FreeEntry(rcu::DeferHead* head) {
  auto* const entry = reinterpret_cast<AccessEntry*>(reinterpret_cast<char*>(head) -
                                                     offsetof(AccessEntry, defer_head));
  std::destroy_at(entry);
  std::construct_at(entry);
  rcu::SlabPool::FreeUnreachable(entry);
}

}  // namespace

AccessLru::AccessLru(size_t entries_max, rcu::ChangeCount& drops)
    : entries_max_(entries_max), drops_(drops), lock_(rcu::LockClass::kAccessLru) {}

AccessLru::~AccessLru() { rcu::Barrier(); }

AccessEntry* AccessLru::Allocate(sunrpc_auth::CredentialRef credential, uint32_t granted,
                                 uint64_t granted_at_ns, uint64_t epoch) {
  AccessEntry* const memory = pool_.Allocate();
  if (memory == nullptr) return nullptr;
  // Counted before it can be found and dropped, so that the count never passes below zero.
  entries_.fetch_add(1, std::memory_order_relaxed);
  return ::new (memory) AccessEntry(std::move(credential), granted, granted_at_ns, epoch);
}

void AccessLru::AddedLocked(AccessCache& cache, DroppedEntries& dropped) {
  lock_.AssertHeld();
  if (!cache.link_.is_linked()) caches_.push_back(cache.link_);
  const size_t now = entries_.fetch_sub(dropped.count, std::memory_order_relaxed) - dropped.count;
  if (now > entries_max_) ScanLocked(std::min(now - entries_max_, kScanMax), kScanMax, dropped);
}

void AccessLru::LeaveLocked(AccessCache& cache) {
  lock_.AssertHeld();
  if (cache.link_.is_linked()) caches_.erase(caches_.iterator_to(cache.link_));
}

void AccessLru::ScanLocked(size_t entries_wanted, size_t visits_max, DroppedEntries& dropped) {
  rcu::ChangeCount::Change change(drops_);
  const size_t before = dropped.count;
  for (size_t visit = 0; visit < visits_max && dropped.count - before < entries_wanted; ++visit) {
    if (caches_.empty()) break;
    Link& link = caches_.front();
    caches_.pop_front();
    AccessCache* const cache =
        boost::intrusive::get_parent_from_member<AccessCache>(&link, &AccessCache::link_);
    if (cache->DropOldest(dropped)) caches_.push_back(link);
  }
  entries_.fetch_sub(dropped.count - before, std::memory_order_relaxed);
}

size_t AccessLru::Shrink(size_t n) {
  size_t total = 0;
  while (total < n) {
    DroppedEntries dropped;
    {
      std::lock_guard lock(lock_);
      ScanLocked(std::min(n - total, kScanMax), std::numeric_limits<size_t>::max(), dropped);
    }
    if (dropped.count == 0) break;
    total += dropped.count;
    Free(dropped);
  }
  return total;
}

void AccessLru::Free(const DroppedEntries& dropped) {
  for (AccessEntry* entry = dropped.first; entry != nullptr;) {
    AccessEntry* const next = entry->newer;
    rcu::Defer(&entry->defer_head, &FreeEntry);
    entry = next;
  }
}

void AccessLru::Dismiss(const DroppedEntries& dropped) {
  entries_.fetch_sub(dropped.count, std::memory_order_relaxed);
  Free(dropped);
}

}  // namespace nfswalk::access_cache
