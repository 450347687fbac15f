// access_lru: the mount's limit on access entries, over all inodes (ACCESS-13), and
// their allocator.
//
// The limit counts answers on lists (access_list.h). The answer that an inode stores itself takes
// no memory of its own and lives as long as the inode; it is counted, but not limited.
//
// A list of the lists that have entries, next victim first. Over the limit, a scan visits a few of
// them, drops the oldest entry of each and moves it to the end.
//
// Lock order: this lock (LockClass::kAccessLru), then that of one cache (LockClass::kAccess).
// Entries are freed when both are released.
// Thread safety: everything may be called from any thread. Destroy it after every cache that it
// served has been cleared.
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_LRU_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_LRU_H_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>

#include "access_cache/access_entry.h"
#include "rcu/keyed_change_count.h"
#include "rcu/object_pool.h"
#include "rcu/spin_lock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

class AccessCache;
class AccessList;

class AccessLru {
 public:
  // Part of an AccessList. On the list while that has entries; an emptied one may stay on it until
  // the next scan or Clear() meets it.
  using Hook = boost::intrusive::list_base_hook<>;
  struct Link : Hook {};

  // `drops`, which outlives it, counts each time that an entry is dropped to make room, by the
  // address of its AccessCache.
  AccessLru(size_t entries_max, rcu::KeyedChangeCount& drops);
  ~AccessLru();
  AccessLru(const AccessLru&) = delete;
  AccessLru& operator=(const AccessLru&) = delete;

  // Answers in all caches. A little behind while others insert or drop.
  size_t answers() const { return entries() + firsts_.load(std::memory_order_relaxed); }
  // Entries that are on lists.
  size_t entries() const { return entries_.load(std::memory_order_relaxed); }

  void SetLimit(size_t entries_max) { limit_.store(entries_max, std::memory_order_relaxed); }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Hands unused memory back to the system, after a grace period.
  void Trim();

  // Drops up to `n` entries, one from each list in turn, oldest first. Returns how many.
  size_t Shrink(size_t n);

 private:
  friend class AccessCache;

  // Lists that one insertion visits at most to get below the limit.
  static constexpr size_t kScanMax = 100;

  // The memory for a cache's list: allocated before the locks, freed after them if it was not
  // needed.
  struct Room {
    explicit Room(AccessLru& from) : lru(from) {}
    ~Room();
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    // False if memory is short.
    bool Allocate();
    AccessEntry& TakeEntry(sunrpc_auth::CredentialRef credential, uint64_t answer,
                           uint64_t granted_at_ns);

    AccessLru& lru;
    AccessList* list = nullptr;
    AccessEntry* entry = nullptr;
    sunrpc_auth::CredentialRef unpinned;  // to be dropped without a lock
  };

  // An inode holds an answer itself from now on, or no longer.
  void FirstTaken() { firsts_.fetch_add(1, std::memory_order_relaxed); }
  void FirstLeft() { firsts_.fetch_sub(1, std::memory_order_relaxed); }

  // nullptr if memory is short.
  AccessEntry* Allocate(sunrpc_auth::CredentialRef credential, uint64_t answer,
                        uint64_t granted_at_ns);
  AccessEntry& Construct(AccessEntry& memory, sunrpc_auth::CredentialRef credential,
                         uint64_t answer, uint64_t granted_at_ns);
  // An entry was handed to `list`, which gave up `dropped`. Notes the list and enforces the limit.
  // nullptr: the entry is in `dropped`.
  void AddedLocked(AccessList* list, DroppedEntries& dropped);
  void LeaveLocked(AccessList& list);
  // Takes up to `entries_wanted` entries from the lists, one each.
  void ScanLocked(size_t entries_wanted, size_t visits_max, DroppedEntries& dropped);
  // Frees entries after a grace period. Dismiss() also stops counting them.
  void Free(const DroppedEntries& dropped);
  void Dismiss(const DroppedEntries& dropped);
  void FreeList(AccessList& list);

  std::atomic<size_t> limit_;
  rcu::KeyedChangeCount& drops_;
  alignas(64) rcu::SpinLock lock_;
  boost::intrusive::list<Link, boost::intrusive::constant_time_size<false>> lists_;
  std::atomic<size_t> entries_{0};
  std::atomic<size_t> firsts_{0};
  rcu::ObjectPool<AccessEntry> entry_pool_;
  rcu::ObjectPool<AccessList> list_pool_;
};

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_LRU_H_
