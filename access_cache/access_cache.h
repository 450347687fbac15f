// access_cache: the rights that the server granted on one inode, one answer per credential. A part
// of the inode.
//
// The first credential's answer is stored in the inode; a second credential moves both to a list
// (access_list.h), which serves the inode from then on. Most inodes are used by one credential and
// need no memory and no cache line beyond their own.
//
// Contract    a lookup answers with the server's ACCESS bits for exactly this credential, or
//             nullopt, which means "not cached", never "denied". A cached denial is an answer.
// Data        field                       | written by
//             epoch_                      | Invalidate(), Clear(): one increment, no lock
//             holder_, epoch_and_rights_, | the cache lock; read in RCU sections
//               granted_at_ns_            |
//             the list                    | the same; that of the AccessLru is taken before it
// Invariants  I1 holder_ is nothing, the first credential (pinned), or the list. A list stays until
//             Clear(). I2 epoch_and_rights_ is 0, which no epoch answers, while whose answer it is
//             or its time changes. I3 an answer answers only in its own epoch. I4 in one epoch the
//             inode itself holds the answers of one credential at most: another one replaces only
//             what is of an earlier epoch, and what is cleared takes its epoch along.
// Protocol    locked:  lock; is the holder this credential, and the answer fresh?; unlock.
//             here:    r = epoch_and_rights_; holder_ is ours?; t = granted_at_ns_; again r? ->
//             hit.
// Ordering    O1 the writer stores 0, holder_ (release), granted_at_ns_ (release), the new
//                epoch_and_rights_ (release). A reader loads epoch_and_rights_ (acquire), holder_
//                (acquire), granted_at_ns_ (acquire), epoch_and_rights_ again. If it finds the same
//                word twice, nothing of another credential is between: I4 gives that another word,
//                and a reader of a later store sees the 0 before it.
//             O2 epoch_ is read after the answer: an Invalidate() that precedes the section, or
//                whose effects the reader has seen, is seen here too.
//             O3 holder_ release -> acquire: a list that is found is whole.
// Staleness   a reader may use an answer that was replaced or dropped since its section began: an
//             answer as of then, within its lifetime and epoch. It may miss one that is being
//             replaced, or an entry that moves in the list.
// Progress    PeekRcu() one answer; SearchRcu() at most AccessList::kSearchStepsMax.
// Lifetime    the inode's own pin on a credential ends at once, but after holder_ has changed.
//             Readers compare its address with one that is valid in their section and never follow
//             it; the address is reused only a grace period after the pin ended, when every
//             reader sees the change. A list is freed a grace period after it left.
// Tests       tests/unit/access_cache/access_cache_test.cc, tests/race/access_cache_race_test.cc,
//             tests/litmus/access_litmus_test.cc
#ifndef NFSWALK_ACCESS_CACHE_ACCESS_CACHE_H_
#define NFSWALK_ACCESS_CACHE_ACCESS_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "access_cache/access_answer.h"
#include "access_cache/access_list.h"
#include "access_cache/access_lru.h"
#include "rcu/spin_lock.h"
#include "rcu/sync_point.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::access_cache {

// Thread safety: everything may be called from any thread. Calls ending in Rcu need an RCU section
// and store nothing; the others may take spinlocks. Those that are given a `lock` take it: the
// cache lock, of class kAccess, this cache's own and always the same. It lies elsewhere in the
// inode, so that nothing that a walker looks at is beside it.
class AccessCache {
 public:
  AccessCache() = default;
  // Preconditions:
  //   - cleared, if anything was ever inserted.
  ~AccessCache();
  AccessCache(const AccessCache&) = delete;
  AccessCache& operator=(const AccessCache&) = delete;

  // Rights of `credential` if its answer is the most recently used one. A miss says nothing about
  // the others.
  //
  // Preconditions:
  //   - inside the RCU section that obtained `credential`, or with a reference to it.
  std::optional<uint32_t> PeekRcu(const sunrpc_auth::CachedCredential* credential,
                                  AccessAge age) const {
    const uint64_t answer =
        epoch_and_rights_.load(std::memory_order_acquire);  // O1: pairs with Install()
    const uintptr_t holder =
        holder_.load(std::memory_order_acquire);  // O1, O3: pairs with Install(), MoveToList()
    NFSWALK_SYNC_POINT("access_cache:peek-loaded");
    if (holder == HolderOf(credential)) [[likely]]
      return OwnRights(answer, OwnGrantedAt(), age);
    if (!IsList(holder)) return std::nullopt;
    return ListOf(holder).PeekRcu(credential, epoch_, age);
  }

  // Searches all answers.
  std::optional<uint32_t> SearchRcu(const sunrpc_auth::CachedCredential* credential,
                                    AccessAge age) const;

  // When the server granted what SearchRcu() answers with.
  std::optional<uint64_t> GrantedAtRcu(const sunrpc_auth::CachedCredential* credential,
                                       AccessAge age) const;

  // Searches under this cache's spinlock, which stands for the inode's lock of
  // nfs_access_get_cached_locked(). A hit makes the answer the most recently used one, which is how
  // the next peek finds it; an entry of the list that is too old to answer is dropped. May be
  // called inside an RCU section.
  std::optional<uint32_t> SearchLocked(rcu::SpinLock& lock,
                                       const sunrpc_auth::CachedCredential* credential,
                                       AccessAge age);

  // To be taken before the ACCESS call whose answer is inserted, or once the attributes of its
  // reply are taken in (ACCESS-8).
  uint64_t epoch() const {
    return epoch_.load(std::memory_order_acquire);  // pairs with Invalidate()
  }

  // Records the server's answer, in place of an earlier one for the same credential. `granted`:
  // ACCESS bits. `granted_at_ns`: when the call was sent. Does nothing if the rights were
  // invalidated since `epoch` was taken (ACCESS-8) or memory is short. `lru` must
  // always be the same.
  void Insert(rcu::SpinLock& lock, sunrpc_auth::CredentialRef credential, uint32_t granted,
              uint64_t granted_at_ns, uint64_t epoch, AccessLru& lru);

  // No answer given so far is given any longer.
  void Invalidate() {
    epoch_.fetch_add(1, std::memory_order_release);  // pairs with epoch()
  }

  // Drops all answers and leaves the list of `lru`. Afterwards the inode may be freed, or the cache
  // used again.
  void Clear(rcu::SpinLock& lock, AccessLru& lru);

  size_t size() const;

 private:
  // holder_: 0, the address of a credential, or that of a list with this bit.
  static constexpr uintptr_t kIsList = 1;
  static uintptr_t HolderOf(const sunrpc_auth::CachedCredential* credential) {
    return reinterpret_cast<uintptr_t>(credential);
  }
  static const sunrpc_auth::CachedCredential* CredentialIn(uintptr_t holder) {
    return reinterpret_cast<const sunrpc_auth::CachedCredential*>(holder);
  }
  static bool IsList(uintptr_t holder) { return (holder & kIsList) != 0; }
  static AccessList& ListOf(uintptr_t holder) {
    return *reinterpret_cast<AccessList*>(holder & ~kIsList);
  }

  uint64_t OwnGrantedAt() const {
    return granted_at_ns_.load(std::memory_order_acquire);  // O1: pairs with Install()
  }
  // The rights in `answer`, if it is still there after it, the holder and the time of grant were
  // loaded in this order, and if it answers now.
  std::optional<uint32_t> OwnRights(uint64_t answer, uint64_t granted_at_ns, AccessAge age) const {
    if (epoch_and_rights_.load(std::memory_order_relaxed) != answer) return std::nullopt;
    return RightsOf(answer, granted_at_ns, epoch_.load(std::memory_order_relaxed), age);
  }

  bool InsertAsFirst(rcu::SpinLock& lock, sunrpc_auth::CredentialRef& credential, uint64_t answer,
                     uint64_t granted_at_ns, AccessLru& lru);
  void InsertInList(rcu::SpinLock& lock, sunrpc_auth::CredentialRef credential, uint64_t answer,
                    uint64_t granted_at_ns, AccessLru& lru);
  bool ClearOwn(rcu::SpinLock& lock, AccessLru& lru);
  void ClearList(rcu::SpinLock& lock, AccessLru& lru);

  // The cache lock is held for these.
  void Install(uintptr_t holder, uint64_t answer, uint64_t granted_at_ns);
  AccessList* ListOrRoomFor(rcu::SpinLock& lock, AccessLru::Room& room);
  AccessList& MoveToList(rcu::SpinLock& lock, uintptr_t holder, AccessLru::Room& room);

  std::atomic<uint64_t> epoch_and_rights_{0};  // access_answer.h
  std::atomic<uintptr_t> holder_{0};
  std::atomic<uint64_t> granted_at_ns_{0};
  std::atomic<uint64_t> epoch_{1};
};
static_assert(sizeof(AccessCache) == 32);

}  // namespace nfswalk::access_cache

#endif  // NFSWALK_ACCESS_CACHE_ACCESS_CACHE_H_
