// credential_cache: one object per credential in use, so that rights can be keyed by its address.
//
// Contract    LookupNonblock() answers with the one cached object equal to the argument, or
//             nullptr, which means only "continue in ref-walk". Equal arguments give
//             the same address while a reference is held, or within the RCU section of the lookup.
// Data        field                        | written by
//             hash_, groups_, key_, ...    | the creator, before the object is published
//             buckets_, next_              | Link(), Unlink(): table lock
//             state_                       | Unlink(): table lock; SetUp()
//             references_                  | 0 to 1 and 1 to 0: table lock; else any holder
//             idle_, idle_since_ns_        | table lock
//             set_up_error_                | SetUp(), under its mutex
// Invariants  I1 one hashed object per key. I2 the idle list holds exactly the hashed objects
//             without a reference, longest idle first. I3 a hashed object leaves the table only
//             without a reference, or by a set-up that failed. I4 once unhashed, never hashed
//             again.
// Protocol    locked:  lock table; for each in chain: equal and hashed -> ++references; unlock.
//             here:    for each in chain: equal -> hashed and not new ? it : nullptr.
//             The lockless search ends at the first equal object, as CRED-2 says: one that
//             cannot be used hides what may stand behind it, which costs a fallback only.
// Ordering    O1 Link() and Unlink() release stores -> LookupNonblock() acquire loads: a found
//                object is whole.
//             O2 SetUp() clears kNew, release -> LookupNonblock() acquire load: what the set-up did
//                is seen.
// Staleness   a reader may see kHashed for an instant after Unlink(): it then holds an object that
//             is on its way out, yet stays allocated and unchanged until the section ends.
// Progress    a search ends with its chain, which grows at the head only.
// Lifetime    an object and its group list are freed a grace period after Unlink().
// Tests       tests/unit/sunrpc_auth/credential_cache_test.cc, tests/race/credential_race_test.cc
#ifndef NFSWALK_SUNRPC_AUTH_CREDENTIAL_CACHE_H_
#define NFSWALK_SUNRPC_AUTH_CREDENTIAL_CACHE_H_

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "rcu/defer.h"
#include "rcu/object_pool.h"
#include "rcu/spin_lock.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::sunrpc_auth {

class CredentialCache;
class CredentialRef;

// Its identity is its address. Valid while a CredentialRef to it exists, or inside the RCU section
// that obtained it.
class alignas(64) CachedCredential {
 public:
  // The credential itself. Never changes.
  const Credential& key() const { return key_; }

  // For the pool: an unused object.
  CachedCredential() = default;
  CachedCredential(const CachedCredential&) = delete;
  CachedCredential& operator=(const CachedCredential&) = delete;

 private:
  friend class CredentialCache;
  friend class CredentialRef;

  // Groups that are compared without leaving the object; 6 of them share the line of the hash.
  static constexpr size_t kInlineGroups = 22;

  CachedCredential(CredentialCache& cache, Credential&& key, uint32_t state);

  static void FreeAfterGracePeriod(CachedCredential* credential);
  static void Free(CachedCredential* credential);
  bool Matches(const Credential& credential) const;

  // Hot line: all that a search reads. No get, put or idle list writes here.
  std::atomic<CachedCredential*> next_{nullptr};
  const uint64_t hash_ = 0;
  const uint32_t uid_ = 0;
  const uint32_t gid_ = 0;
  const uint32_t group_count_ = 0;
  const Flavor flavor_ = Flavor::kNone;
  std::atomic<uint32_t> state_{0};
  std::array<uint32_t, kInlineGroups> groups_;

  // Cold.
  const Credential key_;
  CredentialCache* const cache_ = nullptr;
  std::atomic<uint64_t> references_{1};
  uint64_t idle_since_ns_ = 0;
  std::errc set_up_error_{};
  boost::intrusive::list_member_hook<> idle_hook_;
  rcu::DeferHead defer_head_;
};

// A counted reference. Copies count; the last one leaves the object idle in its cache.
//
// Thread safety: as shared_ptr. Destroying one may take the cache's table lock (a spinlock).
class CredentialRef {
 public:
  CredentialRef() = default;
  CredentialRef(const CredentialRef& other);
  CredentialRef(CredentialRef&& other) noexcept
      : credential_(std::exchange(other.credential_, nullptr)) {}
  CredentialRef& operator=(CredentialRef other) noexcept {
    std::swap(credential_, other.credential_);
    return *this;
  }
  ~CredentialRef();

  const CachedCredential* get() const { return credential_; }
  const CachedCredential* operator->() const { return credential_; }
  explicit operator bool() const { return credential_ != nullptr; }

  // Hands the reference over as a plain address; Adopt() makes it a CredentialRef again.
  const CachedCredential* release() { return std::exchange(credential_, nullptr); }
  static CredentialRef Adopt(const CachedCredential* released) {
    return CredentialRef(const_cast<CachedCredential*>(released));
  }

 private:
  friend class CredentialCache;
  explicit CredentialRef(CachedCredential* counted) : credential_(counted) {}

  CachedCredential* credential_ = nullptr;
};

// Thread safety: everything may be called from any thread. Destroy it when no reference is left but
// those that deferred callbacks are about to drop.
class CredentialCache {
 public:
  struct Limits {
    size_t entries_max;
    uint64_t idle_ns = 60'000'000'000;
  };
  // A flavour's preparation of a new credential, such as a security context; may sleep. Until it
  // has succeeded the object is NEW, which RCU readers must not use.
  using SetUpFunction = std::function<std::errc(const Credential&)>;

  // AUTH_SYS and AUTH_NONE need no set-up.
  explicit CredentialCache(Limits limits, SetUpFunction set_up = nullptr);
  ~CredentialCache();
  CredentialCache(const CredentialCache&) = delete;
  CredentialCache& operator=(const CredentialCache&) = delete;

  // No reference, lock, store or allocation. nullptr: absent, NEW or unhashed; a reference walk may
  // do better.
  //
  // Preconditions:
  //   - inside an RCU section; the answer is valid until it ends.
  const CachedCredential* LookupNonblock(const Credential& credential) const;

  // The object for `credential`, created if need be. Takes the table lock also on a hit, as the
  // 2014 form does (CRED-2). Errors: not_enough_memory; that of the set-up.
  [[nodiscard]] std::expected<CredentialRef, std::errc> Lookup(const Credential& credential);

  // A reference to what LookupNonblock() returned, or an empty one if it has been dropped since.
  //
  // Preconditions:
  //   - inside the RCU section that obtained `borrowed`.
  [[nodiscard]] CredentialRef TakeReference(const CachedCredential* borrowed);

  // Drops what has been idle for longer than Limits::idle_ns at `now_ns` (CLOCK_MONOTONIC), longest
  // idle first. Returns how many. Lookup() does the same whenever it adds an object.
  size_t Prune(uint64_t now_ns);

  // Objects in the table, idle ones included.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  friend class CredentialRef;
  using IdleList = boost::intrusive::list<
      CachedCredential,
      boost::intrusive::member_hook<CachedCredential, boost::intrusive::list_member_hook<>,
                                    &CachedCredential::idle_hook_>>;

  std::atomic<CachedCredential*>& BucketOf(uint64_t hash) const;
  CachedCredential* Allocate(const Credential& credential);
  CachedCredential* Create(const Credential& credential);
  CachedCredential* FindLocked(const Credential& credential) const;
  void ReferenceLocked(CachedCredential& credential);
  void Link(CachedCredential& credential);
  void Unlink(CachedCredential& credential);
  size_t PruneLocked(uint64_t now_ns, IdleList& dropped);
  std::errc SetUp(CachedCredential& credential);
  void Put(CachedCredential& credential);

  const Limits limits_;
  const SetUpFunction set_up_;
  const size_t bucket_mask_;
  const std::unique_ptr<std::atomic<CachedCredential*>[]> buckets_;

  alignas(64) rcu::SpinLock table_lock_;
  IdleList idle_;
  std::atomic<size_t> size_{0};
  std::mutex set_up_mutex_;  // held while a set-up runs
  rcu::ObjectPool<CachedCredential> pool_;
};

}  // namespace nfswalk::sunrpc_auth

#endif  // NFSWALK_SUNRPC_AUTH_CREDENTIAL_CACHE_H_
