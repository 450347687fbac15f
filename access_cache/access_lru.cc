#include "access_cache/access_lru.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "access_cache/access_list.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"

namespace nfswalk::access_cache {

using sunrpc_auth::CredentialRef;

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

AccessLru::AccessLru(size_t entries_max, rcu::KeyedChangeCount& drops)
    : limit_(entries_max), drops_(drops), lock_(rcu::LockClass::kAccessLru) {}

AccessLru::~AccessLru() { rcu::Barrier(); }

bool AccessLru::Room::Allocate() {
  list = lru.list_pool_.Allocate();
  entry = lru.entry_pool_.Allocate();
  return list != nullptr && entry != nullptr;
}

AccessLru::Room::~Room() {
  if (list != nullptr) lru.list_pool_.Free(list);
  if (entry != nullptr) lru.entry_pool_.Free(entry);
}

AccessEntry& AccessLru::Room::TakeEntry(CredentialRef credential, uint64_t answer,
                                        uint64_t granted_at_ns) {
  return lru.Construct(*std::exchange(entry, nullptr), std::move(credential), answer,
                       granted_at_ns);
}

AccessEntry* AccessLru::Allocate(CredentialRef credential, uint64_t answer,
                                 uint64_t granted_at_ns) {
  AccessEntry* const memory = entry_pool_.Allocate();
  if (memory == nullptr) return nullptr;
  return &Construct(*memory, std::move(credential), answer, granted_at_ns);
}

AccessEntry& AccessLru::Construct(AccessEntry& memory, CredentialRef credential, uint64_t answer,
                                  uint64_t granted_at_ns) {
  // Counted before it can be found and dropped, so that the count never passes below zero.
  entries_.fetch_add(1, std::memory_order_relaxed);
  return *::new (&memory) AccessEntry(std::move(credential), answer, granted_at_ns);
}

void AccessLru::AddedLocked(AccessList* list, DroppedEntries& dropped) {
  lock_.AssertHeld();
  if (list != nullptr && !list->link.is_linked()) lists_.push_back(list->link);
  const size_t now = entries_.fetch_sub(dropped.count, std::memory_order_relaxed) - dropped.count;
  const size_t limit = this->limit();
  if (now > limit) ScanLocked(std::min(now - limit, kScanMax), kScanMax, dropped);
}

void AccessLru::LeaveLocked(AccessList& list) {
  lock_.AssertHeld();
  if (list.link.is_linked()) lists_.erase(lists_.iterator_to(list.link));
}

void AccessLru::ScanLocked(size_t entries_wanted, size_t visits_max, DroppedEntries& dropped) {
  const size_t before = dropped.count;
  for (size_t visit = 0; visit < visits_max && dropped.count - before < entries_wanted; ++visit) {
    if (lists_.empty()) break;
    Link& link = lists_.front();
    lists_.pop_front();
    AccessList* const list =
        boost::intrusive::get_parent_from_member<AccessList>(&link, &AccessList::link);
    rcu::KeyedChangeCount::Change change(drops_, list->cache);
    std::lock_guard lock(*list->lock);
    if (list->DropOldest(dropped)) lists_.push_back(link);
  }
  entries_.fetch_sub(dropped.count - before, std::memory_order_relaxed);
}

void AccessLru::Trim() {
  entry_pool_.Trim();
  list_pool_.Trim();
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

// A grace period after the last reader could come to it.
void AccessLru::FreeList(AccessList& list) { list_pool_.FreeDeferred(&list); }

void AccessLru::Dismiss(const DroppedEntries& dropped) {
  entries_.fetch_sub(dropped.count, std::memory_order_relaxed);
  Free(dropped);
}

}  // namespace nfswalk::access_cache
