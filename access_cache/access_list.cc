#include "access_cache/access_list.h"

namespace nfswalk::access_cache {

using sunrpc_auth::CachedCredential;

const AccessEntry* AccessList::FindRcu(const CachedCredential* credential,
                                       const std::atomic<uint64_t>& epoch, AccessAge age) const {
  const AccessEntry* first =
      newest_.load(std::memory_order_acquire);  // O1: pairs with PushFront(), Unlink()
  const AccessEntry* entry = first;
  for (size_t step = 0; step < kSearchStepsMax; ++step) {
    if (entry == nullptr) {
      entry = newest_.load(std::memory_order_acquire);  // O1: pairs with PushFront()
      if (entry == first || entry == nullptr) return nullptr;
      first = entry;
    }
    if (entry->credential.get() == credential) {
      // Else it may be the one just replaced: look on.
      if (entry->Rights(epoch.load(std::memory_order_relaxed), age)) return entry;
    }
    NFSWALK_SYNC_POINT("access_list:search-step");
    entry = entry->older.load(std::memory_order_acquire);  // O1: pairs with PushFront(), Unlink()
  }
  return nullptr;
}

std::optional<uint32_t> AccessList::SearchLocked(const CachedCredential* credential, uint64_t epoch,
                                                 AccessAge age, DroppedEntries& dropped) {
  lock->AssertHeld();
  const auto found = tree_.find(credential);
  if (found == tree_.end()) return std::nullopt;
  const auto rights = found->Rights(epoch, age);
  if (!rights) {
    Drop(*found, dropped);
  } else if (newest_.load(std::memory_order_relaxed) != &*found) {
    Unlink(*found);
    NFSWALK_SYNC_POINT("access_list:moving");
    PushFront(*found);
  }
  return rights;
}

// Drops an entry of another epoch: it is stale already. Publishes the entry before it unlinks the
// one that it replaces, so that readers always find one of the two.
void AccessList::Add(AccessEntry& entry, uint64_t epoch, DroppedEntries& dropped) {
  lock->AssertHeld();
  if (EpochOf(entry.answer) != epoch) return dropped.Push(entry);
  size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  PushFront(entry);
  // All entries of an earlier epoch are at the old end, since none of them can move to the front.
  while (oldest_ != &entry && EpochOf(oldest_->answer) != epoch) Drop(*oldest_, dropped);
  auto [place, fresh] = tree_.insert(entry);
  if (!fresh) {
    Drop(*place, dropped);
    NFSWALK_SYNC_POINT("access_list:replaced");
    tree_.insert(entry);
  }
}

bool AccessList::DropOldest(DroppedEntries& dropped) {
  lock->AssertHeld();
  if (oldest_ != nullptr) Drop(*oldest_, dropped);
  return oldest_ != nullptr;
}

// Makes `entry`, which is in no list, the newest.
void AccessList::PushFront(AccessEntry& entry) {
  AccessEntry* const second = newest_.load(std::memory_order_relaxed);
  entry.newer = nullptr;
  entry.older.store(second, std::memory_order_release);  // O1: pairs with FindRcu()
  (second != nullptr ? second->newer : oldest_) = &entry;
  newest_.store(&entry, std::memory_order_release);  // O1: pairs with PeekRcu() and FindRcu()
}

// Takes `entry` out of the list; `older` stays for readers that stand on it.
void AccessList::Unlink(AccessEntry& entry) {
  AccessEntry* const older = entry.older.load(std::memory_order_relaxed);
  std::atomic<AccessEntry*>& to = entry.newer != nullptr ? entry.newer->older : newest_;
  to.store(older, std::memory_order_release);  // O1: pairs with PeekRcu() and FindRcu()
  (older != nullptr ? older->newer : oldest_) = entry.newer;
}

void AccessList::Drop(AccessEntry& entry, DroppedEntries& dropped) {
  Unlink(entry);
  tree_.erase(tree_.iterator_to(entry));
  size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  dropped.Push(entry);
}

}  // namespace nfswalk::access_cache
