#include "access_cache/access_cache.h"

#include <cassert>
#include <mutex>
#include <utility>

#include "rcu/read_guard.h"

namespace nfswalk::access_cache {

using sunrpc_auth::CachedCredential;
using sunrpc_auth::CredentialRef;

AccessCache::~AccessCache() { assert(holder_.load(std::memory_order_relaxed) == 0); }

std::optional<uint32_t> AccessCache::SearchRcu(const CachedCredential* credential,
                                               AccessAge age) const {
  const uint64_t answer =
      epoch_and_rights_.load(std::memory_order_acquire);  // O1: pairs with Install()
  const uintptr_t holder =
      holder_.load(std::memory_order_acquire);  // O1, O3: pairs with Install(), MoveToList()
  if (holder == HolderOf(credential)) [[likely]]
    return OwnRights(answer, OwnGrantedAt(), age);
  if (!IsList(holder)) return std::nullopt;
  const AccessEntry* const entry = ListOf(holder).FindRcu(credential, epoch_, age);
  // FindRcu() has checked age and epoch.
  return entry != nullptr ? std::optional(BitsOf(entry->answer)) : std::nullopt;
}

std::optional<uint64_t> AccessCache::GrantedAtRcu(const CachedCredential* credential,
                                                  AccessAge age) const {
  const uint64_t answer =
      epoch_and_rights_.load(std::memory_order_acquire);  // O1: pairs with Install()
  const uintptr_t holder =
      holder_.load(std::memory_order_acquire);  // O1, O3: pairs with Install(), MoveToList()
  if (holder == HolderOf(credential)) {
    const uint64_t granted_at_ns = OwnGrantedAt();
    return OwnRights(answer, granted_at_ns, age) ? std::optional(granted_at_ns) : std::nullopt;
  }
  if (!IsList(holder)) return std::nullopt;
  const AccessEntry* const entry = ListOf(holder).FindRcu(credential, epoch_, age);
  return entry != nullptr ? std::optional(entry->granted_at_ns) : std::nullopt;
}

std::optional<uint32_t> AccessCache::SearchLocked(rcu::SpinLock& lock,
                                                  const CachedCredential* credential,
                                                  AccessAge age) {
  DroppedEntries dropped;
  AccessLru* lru;
  std::optional<uint32_t> rights;
  {
    std::lock_guard guard(lock);
    const uint64_t epoch = epoch_.load(std::memory_order_relaxed);
    const uintptr_t holder = holder_.load(std::memory_order_relaxed);
    if (!IsList(holder)) {
      if (holder != HolderOf(credential)) return std::nullopt;
      return RightsOf(epoch_and_rights_.load(std::memory_order_relaxed),
                      granted_at_ns_.load(std::memory_order_relaxed), epoch, age);
    }
    lru = ListOf(holder).lru;
    rights = ListOf(holder).SearchLocked(credential, epoch, age, dropped);
  }
  if (dropped.count != 0) lru->Dismiss(dropped);
  return rights;
}

void AccessCache::Insert(rcu::SpinLock& lock, CredentialRef credential, uint32_t granted,
                         uint64_t granted_at_ns, uint64_t epoch, AccessLru& lru) {
  NFSWALK_SYNC_POINT("access_cache:inserting");
  if (InsertAsFirst(lock, credential, PackAnswer(epoch, granted), granted_at_ns, lru)) return;
  InsertInList(lock, std::move(credential), PackAnswer(epoch, granted), granted_at_ns, lru);
}

// False if it belongs in the list. What the inode held, and is not its own any more, is swapped
// into `credential`, to be unpinned without the lock.
bool AccessCache::InsertAsFirst(rcu::SpinLock& lock, CredentialRef& credential, uint64_t answer,
                                uint64_t granted_at_ns, AccessLru& lru) {
  std::lock_guard guard(lock);
  const uintptr_t holder = holder_.load(std::memory_order_relaxed);
  if (IsList(holder)) return false;
  if (EpochOf(answer) != epoch_.load(std::memory_order_relaxed)) return true;  // born stale
  if (holder == HolderOf(credential.get())) {
    Install(holder, answer, granted_at_ns);
    return true;
  }
  // I4.
  if (EpochOf(epoch_and_rights_.load(std::memory_order_relaxed)) == EpochOf(answer)) return false;
  if (holder == 0) lru.FirstTaken();
  Install(HolderOf(credential.release()), answer, granted_at_ns);
  credential = CredentialRef::Adopt(CredentialIn(holder));
  return true;
}

void AccessCache::Install(uintptr_t holder, uint64_t answer, uint64_t granted_at_ns) {
  epoch_and_rights_.store(0, std::memory_order_relaxed);
  NFSWALK_SYNC_POINT("access_cache:installing");
  // O1: all three pair with PeekRcu(), SearchRcu(), GrantedAtRcu().
  holder_.store(holder, std::memory_order_release);
  granted_at_ns_.store(granted_at_ns, std::memory_order_release);
  epoch_and_rights_.store(answer, std::memory_order_release);
}

void AccessCache::InsertInList(rcu::SpinLock& lock, CredentialRef credential, uint64_t answer,
                               uint64_t granted_at_ns, AccessLru& lru) {
  AccessLru::Room room(lru);
  if (!IsList(holder_.load(std::memory_order_relaxed)) && !room.Allocate()) return;
  AccessEntry* const entry = lru.Allocate(std::move(credential), answer, granted_at_ns);
  if (entry == nullptr) return;
  DroppedEntries dropped;
  {
    std::lock_guard list_lock(lru.lock_);
    AccessList* list;
    {
      std::lock_guard guard(lock);
      list = ListOrRoomFor(lock, room);
      if (list != nullptr) {
        list->Add(*entry, epoch_.load(std::memory_order_relaxed), dropped);
      } else {
        dropped.Push(*entry);  // there was one, and it was cleared since
      }
    }
    lru.AddedLocked(list, dropped);
  }
  lru.Free(dropped);
}

// nullptr if there is neither.
AccessList* AccessCache::ListOrRoomFor(rcu::SpinLock& lock, AccessLru::Room& room) {
  const uintptr_t holder = holder_.load(std::memory_order_relaxed);
  if (IsList(holder)) return &ListOf(holder);
  return room.list != nullptr ? &MoveToList(lock, holder, room) : nullptr;
}

// The inode's own answer moves to the list, too, and is found in one place or the other at any
// time.
AccessList& AccessCache::MoveToList(rcu::SpinLock& lock, uintptr_t holder, AccessLru::Room& room) {
  AccessList& list = *std::exchange(room.list, nullptr);
  list.lock = &lock;
  list.cache = this;
  list.lru = &room.lru;
  if (holder != 0) {
    room.lru.FirstLeft();
    CredentialRef first = CredentialRef::Adopt(CredentialIn(holder));
    const uint64_t answer = epoch_and_rights_.load(std::memory_order_relaxed);
    if (EpochOf(answer) == epoch_.load(std::memory_order_relaxed)) {
      DroppedEntries none;
      list.Add(
          room.TakeEntry(std::move(first), answer, granted_at_ns_.load(std::memory_order_relaxed)),
          EpochOf(answer), none);
    } else {
      room.unpinned = std::move(first);
    }
  }
  holder_.store(reinterpret_cast<uintptr_t>(&list) | kIsList,
                std::memory_order_release);  // O3: pairs with PeekRcu() and the other lookups
  NFSWALK_SYNC_POINT("access_cache:list-published");
  return list;
}

void AccessCache::Clear(rcu::SpinLock& lock, AccessLru& lru) {
  Invalidate();
  NFSWALK_SYNC_POINT("access_cache:clearing");
  // Never inserted into: nothing to drop, and the many inodes of this kind spare the locks.
  if (holder_.load(std::memory_order_relaxed) == 0) return;
  if (!ClearOwn(lock, lru)) ClearList(lock, lru);
}

// False if there is a list instead.
bool AccessCache::ClearOwn(rcu::SpinLock& lock, AccessLru& lru) {
  CredentialRef unpinned;
  std::lock_guard guard(lock);
  const uintptr_t holder = holder_.load(std::memory_order_relaxed);
  if (IsList(holder)) return false;
  if (holder == 0) return true;
  Invalidate();  // I4: it may have come since Clear() began
  unpinned = CredentialRef::Adopt(CredentialIn(holder));
  lru.FirstLeft();
  Install(0, 0, 0);
  return true;
}

void AccessCache::ClearList(rcu::SpinLock& lock, AccessLru& lru) {
  DroppedEntries dropped;
  AccessList* list;
  {
    std::lock_guard list_lock(lru.lock_);
    std::lock_guard guard(lock);
    const uintptr_t holder = holder_.load(std::memory_order_relaxed);
    if (!IsList(holder)) return;  // another thread has cleared it
    list = &ListOf(holder);
    Invalidate();  // as in ClearOwn()
    while (list->DropOldest(dropped)) {
    }
    lru.LeaveLocked(*list);
    holder_.store(0, std::memory_order_relaxed);
  }
  lru.Dismiss(dropped);
  lru.FreeList(*list);
}

size_t AccessCache::size() const {
  rcu::ReadGuard guard;
  const uintptr_t holder = holder_.load(std::memory_order_acquire);  // O3: pairs with MoveToList()
  return IsList(holder) ? ListOf(holder).size() : holder != 0;
}

}  // namespace nfswalk::access_cache
