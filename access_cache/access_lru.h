// access_lru: the mount's limit on access entries, over all inodes (nfs_semantics 3.3).
//
// A list of the access caches that have entries, next victim first. Over the limit, a scan visits a
// few caches, drops the oldest entry of each and moves the cache to the end.
//
// Lock order: the list's lock (LockClass::kAccessLru), then the lock of one cache
// (LockClass::kAccess). Entries are freed when both are released.
// Thread safety: everything may be called from any thread. Destroy it after every cache on it has
// been cleared.
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_LRU_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_LRU_H_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>

#include "access_cache/access_entry.h"
#include "rcu/change_count.h"
#include "rcu/object_pool.h"
#include "rcu/spin_lock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

class AccessCache;

class AccessLru {
 public:
  // Part of an AccessCache. On the list while the cache has entries; emptied caches may stay on it
  // until the next scan or Clear() meets them.
  using Hook = boost::intrusive::list_base_hook<>;
  struct Link : Hook {};

  // `drops`, which outlives it, counts each time that entries are dropped to make room.
  AccessLru(size_t entries_max, rcu::ChangeCount& drops);
  ~AccessLru();
  AccessLru(const AccessLru&) = delete;
  AccessLru& operator=(const AccessLru&) = delete;

  // Entries in all caches. A little behind while others insert or drop.
  size_t entries() const { return entries_.load(std::memory_order_relaxed); }

  // Drops up to `n` entries, one from each cache in turn, oldest first. Returns how many.
  size_t Shrink(size_t n);

 private:
  friend class AccessCache;

  // Caches that one insertion visits at most to get below the limit.
  static constexpr size_t kScanMax = 100;

  // nullptr if memory is short.
  AccessEntry* Allocate(sunrpc_auth::CredentialRef credential, uint32_t granted,
                        uint64_t granted_at_ns, uint64_t epoch);
  // An entry was handed to `cache`, which gave up `dropped`. Lists the cache and enforces the
  // limit.
  void AddedLocked(AccessCache& cache, DroppedEntries& dropped);
  void LeaveLocked(AccessCache& cache);
  // Takes up to `entries_wanted` entries from the caches, one each.
  void ScanLocked(size_t entries_wanted, size_t visits_max, DroppedEntries& dropped);
  // Frees entries after a grace period. Dismiss() also stops counting them.
  void Free(const DroppedEntries& dropped);
  void Dismiss(const DroppedEntries& dropped);

  const size_t entries_max_;
  rcu::ChangeCount& drops_;
  alignas(64) rcu::SpinLock lock_;
  boost::intrusive::list<Link, boost::intrusive::constant_time_size<false>> caches_;
  std::atomic<size_t> entries_{0};
  rcu::ObjectPool<AccessEntry> pool_;
};

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_LRU_H_
