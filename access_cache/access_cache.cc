#include "access_cache/access_cache.h"

#include <algorithm>
#include <mutex>

#include "rcu/lock_order.h"

namespace nfswalk::access_cache {

using sunrpc_auth::CachedCredential;

AccessCache::AccessCache() : lock_(rcu::LockClass::kAccess) {}

AccessCache::~AccessCache() = default;

const AccessEntry* AccessCache::FindRcu(const CachedCredential* credential, AccessAge age) const {
  const AccessEntry* first =
      newest_.load(std::memory_order_acquire);  // O1: pairs with PushFrontLocked(), UnlinkLocked()
  const AccessEntry* entry = first;
  for (size_t step = 0; step < kSearchStepsMax; ++step) {
    if (entry == nullptr) {
      entry = newest_.load(std::memory_order_acquire);  // O1: pairs with PushFrontLocked()
      if (entry == first || entry == nullptr) return nullptr;
      first = entry;
    }
    if (entry->credential.get() == credential) {
      // Else it may be the one just replaced: look on.
      if (entry->Rights(epoch_.load(std::memory_order_relaxed), age)) return entry;
    }
    NFSWALK_SYNC_POINT("access_cache:search-step");
    entry = entry->older.load(
        std::memory_order_acquire);  // O1: pairs with PushFrontLocked(), UnlinkLocked()
  }
  return nullptr;
}

std::optional<uint32_t> AccessCache::SearchRcu(const CachedCredential* credential,
                                               AccessAge age) const {
  const AccessEntry* const entry = FindRcu(credential, age);
  if (entry == nullptr) return std::nullopt;
  return entry->rights();
}

std::optional<uint64_t> AccessCache::GrantedAtRcu(const CachedCredential* credential,
                                                  AccessAge age) const {
  const AccessEntry* const entry = FindRcu(credential, age);
  if (entry == nullptr) return std::nullopt;
  return entry->granted_at_ns;
}

std::optional<uint32_t> AccessCache::SearchLocked(const CachedCredential* credential,
                                                  AccessAge age) {
  DroppedEntries dropped;
  AccessLru* lru;
  std::optional<uint32_t> rights;
  {
    std::lock_guard lock(lock_);
    lru = lru_.load(std::memory_order_relaxed);
    const auto found = tree_.find(credential);
    if (found == tree_.end()) return std::nullopt;
    rights = found->Rights(epoch_.load(std::memory_order_relaxed), age);
    if (!rights) {
      DropLocked(*found, dropped);
    } else if (newest_.load(std::memory_order_relaxed) != &*found) {
      UnlinkLocked(*found);
      NFSWALK_SYNC_POINT("access_cache:moving");
      PushFrontLocked(*found);
    }
  }
  if (dropped.count != 0) lru->Dismiss(dropped);
  return rights;
}

void AccessCache::Insert(sunrpc_auth::CredentialRef credential, uint32_t granted,
                         uint64_t granted_at_ns, uint64_t epoch, AccessLru& lru) {
  AccessEntry* const entry = lru.Allocate(std::move(credential), granted, granted_at_ns, epoch);
  if (entry == nullptr) return;
  NFSWALK_SYNC_POINT("access_cache:inserting");
  DroppedEntries dropped;
  {
    std::lock_guard list_lock(lru.lock_);
    {
      std::lock_guard lock(lock_);
      lru_.store(&lru, std::memory_order_relaxed);
      AddLocked(*entry, dropped);
    }
    lru.AddedLocked(*this, dropped);
  }
  lru.Free(dropped);
}

void AccessCache::Clear(AccessLru& lru) {
  Invalidate();
  // Never inserted into: nothing to drop, and the many inodes of this kind spare the mount's lock.
  if (lru_.load(std::memory_order_relaxed) == nullptr) return;
  DroppedEntries dropped;
  {
    std::lock_guard list_lock(lru.lock_);
    std::lock_guard lock(lock_);
    while (oldest_ != nullptr) DropLocked(*oldest_, dropped);
    lru.LeaveLocked(*this);
    lru_.store(nullptr, std::memory_order_relaxed);
  }
  lru.Dismiss(dropped);
}

// An entry of another epoch is born stale: it goes straight to `dropped`. The new one is reachable
// before the one it replaces leaves, so that readers always find one of the two.
void AccessCache::AddLocked(AccessEntry& entry, DroppedEntries& dropped) {
  lock_.AssertHeld();
  const uint64_t epoch = epoch_.load(std::memory_order_relaxed);
  if (entry.epoch() != epoch) return dropped.Push(entry);
  size_.store(size() + 1, std::memory_order_relaxed);
  PushFrontLocked(entry);
  // All entries of an earlier epoch are at the old end, since none of them can move to the front.
  while (oldest_ != &entry && oldest_->epoch() != epoch) DropLocked(*oldest_, dropped);
  auto [place, fresh] = tree_.insert(entry);
  if (!fresh) {
    DropLocked(*place, dropped);
    tree_.insert(entry);
  }
}

// Makes `entry`, which is in no list, the newest.
void AccessCache::PushFrontLocked(AccessEntry& entry) {
  AccessEntry* const second = newest_.load(std::memory_order_relaxed);
  entry.newer = nullptr;
  entry.older.store(second, std::memory_order_release);  // O1: pairs with SearchRcu()
  (second != nullptr ? second->newer : oldest_) = &entry;
  newest_.store(&entry, std::memory_order_release);  // O1: pairs with PeekRcu() and SearchRcu()
}

// Takes `entry` out of the list; `older` stays for readers that stand on it.
void AccessCache::UnlinkLocked(AccessEntry& entry) {
  AccessEntry* const older = entry.older.load(std::memory_order_relaxed);
  std::atomic<AccessEntry*>& link = entry.newer != nullptr ? entry.newer->older : newest_;
  link.store(older, std::memory_order_release);  // O1: pairs with PeekRcu() and SearchRcu()
  (older != nullptr ? older->newer : oldest_) = entry.newer;
}

void AccessCache::DropLocked(AccessEntry& entry, DroppedEntries& dropped) {
  UnlinkLocked(entry);
  tree_.erase(tree_.iterator_to(entry));
  size_.store(size() - 1, std::memory_order_relaxed);
  dropped.Push(entry);
}

bool AccessCache::DropOldest(DroppedEntries& dropped) {
  std::lock_guard lock(lock_);
  if (oldest_ != nullptr) DropLocked(*oldest_, dropped);
  return oldest_ != nullptr;
}

}  // namespace nfswalk::access_cache
