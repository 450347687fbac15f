// access_cache: the rights that the server granted on one inode, one entry per credential. A part
// of the inode.
//
// Contract    a lookup answers with the server's ACCESS bits for exactly this credential, or
//             nullopt, which means "ask further", never "denied". A cached denial is an answer.
// Data        field                        | written by
//             epoch_                       | Invalidate(), Clear(): one increment, no lock
//             newest_, older               | cache lock; read by anybody in an RCU section
//             newer, oldest_, tree_, size_ | cache lock
//             lru_                         | cache lock
//             link_                        | the AccessLru's lock
// Invariants  I1 the list and the tree hold the same entries, one per credential. I2 a published
//             entry is never edited. I3 the list is ordered by last use, as Insert() and
//             SearchLocked() saw it. I4 an entry answers only in its own epoch. I5 after an
//             insertion no entry of an earlier epoch is left.
// Protocol    locked:  lock; find in tree; too old -> drop it; else move to the front; unlock.
//             here:    peek: e = newest_, once; ours and Rights() -> hit.
//                      search: e = newest_; until ours and Rights(): e = e->older; at the end,
//                      again if newest_ moved, since a move to the front can hide an entry from us.
// Ordering    O1 PushFrontLocked() and UnlinkLocked() release stores -> PeekRcu() and SearchRcu()
//                acquire loads: an entry reached is whole.
//             O2 epoch_ is read after newest_: an Invalidate() that precedes the section, or whose
//                effects the reader has seen, is seen here too.
// Staleness   a reader may use an entry that was replaced or dropped since its section began: an
//             answer as of then, within its lifetime and epoch. It may miss a moving entry.
// Progress    PeekRcu() one entry; SearchRcu() at most kSearchStepsMax.
// Lifetime    entries are freed a grace period after they leave, and their credentials with them.
// Tests       tests/unit/access_cache/access_cache_test.cc, tests/race/access_cache_race_test.cc
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_CACHE_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_CACHE_H_

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "access_cache/access_entry.h"
#include "access_cache/access_lru.h"
#include "rcu/spin_lock.h"
#include "rcu/sync_point.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

// Thread safety: everything may be called from any thread. Calls ending in Rcu need an RCU section
// and store nothing; the others may take spinlocks.
class AccessCache {
 public:
  // Entries that one SearchRcu() looks at. More credentials than this on one inode are served by
  // SearchLocked().
  static constexpr size_t kSearchStepsMax = 128;

  AccessCache();
  // Preconditions:
  //   - cleared, if anything was ever inserted.
  ~AccessCache();
  AccessCache(const AccessCache&) = delete;
  AccessCache& operator=(const AccessCache&) = delete;

  // Rights of `credential` if its entry is the most recently used one. A miss says nothing about
  // the other entries.
  //
  // Preconditions:
  //   - inside the RCU section that obtained `credential`, or with a reference to it.
  std::optional<uint32_t> PeekRcu(const sunrpc_auth::CachedCredential* credential,
                                  AccessAge age) const {
    const AccessEntry* entry =
        newest_.load(std::memory_order_acquire);  // O1: pairs with PushFrontLocked()
    NFSWALK_SYNC_POINT("access_cache:peek-loaded");
    if (entry == nullptr || entry->credential.get() != credential) return std::nullopt;
    return entry->Rights(epoch_.load(std::memory_order_relaxed), age);
  }

  // The same over all entries.
  std::optional<uint32_t> SearchRcu(const sunrpc_auth::CachedCredential* credential,
                                    AccessAge age) const;

  // When the server granted what SearchRcu() answers with.
  std::optional<uint64_t> GrantedAtRcu(const sunrpc_auth::CachedCredential* credential,
                                       AccessAge age) const;

  // The same in the tree, under this cache's spinlock, which stands for the inode's lock of
  // nfs_semantics 3.2. A hit makes the entry the newest, which is how the next peek finds it; an
  // entry too old to answer is dropped. May be called inside an RCU section.
  std::optional<uint32_t> SearchLocked(const sunrpc_auth::CachedCredential* credential,
                                       AccessAge age);

  // To be taken before the ACCESS call whose answer is inserted.
  uint64_t epoch() const {
    return epoch_.load(std::memory_order_acquire);  // pairs with Invalidate()
  }

  // Records the server's answer, in place of an earlier one for the same credential. `granted`:
  // ACCESS bits. `granted_at_ns`: when the call was sent. Does nothing if the rights were
  // invalidated since `epoch` was taken (R6 of nfs_semantics 6) or memory is short. `lru` must
  // always be the same.
  void Insert(sunrpc_auth::CredentialRef credential, uint32_t granted, uint64_t granted_at_ns,
              uint64_t epoch, AccessLru& lru);

  // No entry granted so far answers any longer.
  void Invalidate() {
    epoch_.fetch_add(1, std::memory_order_release);  // pairs with epoch()
  }

  // Drops all entries and leaves the list of `lru`. Afterwards the inode may be freed, or the cache
  // used again.
  void Clear(AccessLru& lru);

  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  friend class AccessLru;

  struct KeyOfEntry {
    using type = const sunrpc_auth::CachedCredential*;
    type operator()(const AccessEntry& entry) const { return entry.credential.get(); }
  };
  using Tree = boost::intrusive::set<
      AccessEntry,
      boost::intrusive::member_hook<AccessEntry, AccessEntry::TreeHook, &AccessEntry::tree_hook>,
      boost::intrusive::key_of_value<KeyOfEntry>, boost::intrusive::constant_time_size<false>>;

  const AccessEntry* FindRcu(const sunrpc_auth::CachedCredential* credential, AccessAge age) const;

  // The cache lock is held for all of these. What leaves goes to `dropped`.
  void PushFrontLocked(AccessEntry& entry);
  void UnlinkLocked(AccessEntry& entry);
  void DropLocked(AccessEntry& entry, DroppedEntries& dropped);
  void AddLocked(AccessEntry& entry, DroppedEntries& dropped);

  // For AccessLru: drops the oldest entry, if any. True if entries are left.
  bool DropOldest(DroppedEntries& dropped);

  // Hot: all that a lookup without a lock reads here.
  std::atomic<uint64_t> epoch_{0};
  std::atomic<AccessEntry*> newest_{nullptr};

  // Cold.
  AccessEntry* oldest_ = nullptr;
  Tree tree_;
  AccessLru::Link link_;
  std::atomic<AccessLru*> lru_{nullptr};
  std::atomic<uint32_t> size_{0};
  rcu::SpinLock lock_;
};
static_assert(sizeof(AccessCache) <= 104);

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_CACHE_H_
