// access_list: the answers of an inode that several credentials use, one entry each.
//
// Internal to access_cache/.
//
// Contract    as that of access_cache.h, whose epoch is passed to each call.
// Data        field                        | written by
//             newest_, older               | the cache lock; read in RCU sections
//             newer, oldest_, tree_, size_ | the cache lock
//             lock, lru, cache             | before the list is published
//             link                         | the AccessLru's lock
// Invariants  I1 the list and the tree hold the same entries, one per credential. I2 a published
//             entry is never edited. I3 the list is ordered by last use, as Add() and
//             SearchLocked() saw it. I4 after an insertion no entry of an earlier epoch is left.
// Protocol    locked:  lock; find in tree; too old -> drop it; else move to the front; unlock.
//             here:    peek: e = newest_, once; ours and Rights() -> hit.
//                      search: e = newest_; until ours and Rights(): e = e->older; at the end,
//                      again if newest_ moved, since a move to the front can hide an entry.
// Ordering    O1 PushFront() and Unlink() release stores -> PeekRcu() and FindRcu() acquire loads:
//                an entry reached is whole.
//             O2 the epoch is read after newest_ (O2 of access_cache.h).
// Staleness   a reader may use an entry that was replaced or dropped since its section began. It
//             may miss a moving entry.
// Progress    PeekRcu() one entry; FindRcu() at most kSearchStepsMax.
// Lifetime    entries are freed a grace period after they leave, and their credentials with them;
//             a list a grace period after Clear().
// Tests       tests/unit/access_cache/access_cache_test.cc, tests/race/access_cache_race_test.cc,
//             tests/litmus/access_litmus_test.cc
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_LIST_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_LIST_H_

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "access_cache/access_answer.h"
#include "access_cache/access_entry.h"
#include "access_cache/access_lru.h"
#include "rcu/spin_lock.h"
#include "rcu/sync_point.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

class alignas(64) AccessList {
 public:
  // Entries that one search without a lock looks at. More credentials than this on one inode are
  // served by SearchLocked().
  static constexpr size_t kSearchStepsMax = 128;

  std::optional<uint32_t> PeekRcu(const sunrpc_auth::CachedCredential* credential,
                                  const std::atomic<uint64_t>& epoch, AccessAge age) const {
    const AccessEntry* entry =
        newest_.load(std::memory_order_acquire);  // O1: pairs with PushFront()
    NFSWALK_SYNC_POINT("access_list:peek-loaded");
    if (entry == nullptr || entry->credential.get() != credential) return std::nullopt;
    return entry->Rights(epoch.load(std::memory_order_relaxed), age);
  }

  // The entry that answers for the credential, over all of them; nullptr if none was found.
  const AccessEntry* FindRcu(const sunrpc_auth::CachedCredential* credential,
                             const std::atomic<uint64_t>& epoch, AccessAge age) const;

  size_t size() const { return size_.load(std::memory_order_relaxed); }

  // Preconditions of the rest: the cache lock, that of the inode's AccessCache. Removed entries are
  // pushed to `dropped`.

  // Makes a hit the newest, and drops an entry that is too old.
  std::optional<uint32_t> SearchLocked(const sunrpc_auth::CachedCredential* credential,
                                       uint64_t epoch, AccessAge age, DroppedEntries& dropped);
  // In place of an earlier one for the same credential. One of another epoch is dropped at once.
  void Add(AccessEntry& entry, uint64_t epoch, DroppedEntries& dropped);
  // True if entries are left.
  bool DropOldest(DroppedEntries& dropped);

  rcu::SpinLock* lock = nullptr;
  const AccessCache* cache = nullptr;  // whose list it is
  AccessLru* lru = nullptr;
  AccessLru::Link link;

 private:
  struct KeyOfEntry {
    using type = const sunrpc_auth::CachedCredential*;
    type operator()(const AccessEntry& entry) const { return entry.credential.get(); }
  };
  using Tree = boost::intrusive::set<
      AccessEntry,
      boost::intrusive::member_hook<AccessEntry, AccessEntry::TreeHook, &AccessEntry::tree_hook>,
      boost::intrusive::key_of_value<KeyOfEntry>, boost::intrusive::constant_time_size<false>>;

  void PushFront(AccessEntry& entry);
  void Unlink(AccessEntry& entry);
  void Drop(AccessEntry& entry, DroppedEntries& dropped);

  std::atomic<AccessEntry*> newest_{nullptr};
  AccessEntry* oldest_ = nullptr;
  Tree tree_;
  std::atomic<uint32_t> size_{0};
};

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_LIST_H_
