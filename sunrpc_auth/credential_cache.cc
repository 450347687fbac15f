#include "sunrpc_auth/credential_cache.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>

#include "rcu/coarse_clock.h"
#include "rcu/lock_order.h"
#include "rcu/sync_point.h"

namespace nfswalk::sunrpc_auth {
namespace {

constexpr uint32_t kHashed = 1;  // in the table
constexpr uint32_t kNew = 2;     // set-up has not succeeded yet
constexpr uint32_t kUsable = kHashed;

constexpr size_t kBucketsMin = 16;
constexpr size_t kBucketsMax = 16384;  // the largest that the 2014 form allows

size_t BucketCount(size_t entries_max) {
  return std::bit_ceil(std::clamp(entries_max, kBucketsMin, kBucketsMax));
}

}  // namespace

CachedCredential::CachedCredential(CredentialCache& cache, Credential&& key, uint32_t state)
    : hash_(key.hash()),
      uid_(key.uid()),
      gid_(key.gid()),
      group_count_(static_cast<uint32_t>(key.groups().size())),
      flavor_(key.flavor()),
      state_(state),
      key_(std::move(key)),
      cache_(&cache) {
  std::copy_n(key_.groups().begin(), std::min<size_t>(group_count_, kInlineGroups),
              groups_.begin());
}

// Resets the object to the state in which the pool constructed it: without a group list.
void CachedCredential::Free(CachedCredential* credential) {
  std::destroy_at(credential);
  std::construct_at(credential);
  rcu::SlabPool::FreeUnreachable(credential);
}

void CachedCredential::FreeAfterGracePeriod(CachedCredential* credential) {
  rcu::Defer(&credential->defer_head_, [](rcu::DeferHead* head) {
    Free(reinterpret_cast<CachedCredential*>(reinterpret_cast<char*>(head) -
                                             offsetof(CachedCredential, defer_head_)));
  });
}

bool CachedCredential::Matches(const Credential& credential) const {
  if (hash_ != credential.hash() || uid_ != credential.uid() || gid_ != credential.gid() ||
      flavor_ != credential.flavor() || group_count_ != credential.groups().size()) {
    return false;
  }
  // A long list is compared in key_, whose memory lives as long as this object.
  const uint32_t* groups = group_count_ <= kInlineGroups ? groups_.data() : key_.groups().data();
  return std::equal(groups, groups + group_count_, credential.groups().begin());
}

CredentialRef::CredentialRef(const CredentialRef& other) : credential_(other.credential_) {
  // The copied reference keeps the object alive; nothing is read on the strength of the new count.
  if (credential_ != nullptr) credential_->references_.fetch_add(1, std::memory_order_relaxed);
}

CredentialRef::~CredentialRef() {
  if (credential_ != nullptr) credential_->cache_->Put(*credential_);
}

CredentialCache::CredentialCache(Limits limits, SetUpFunction set_up)
    : limits_(limits),
      set_up_(std::move(set_up)),
      bucket_mask_(BucketCount(limits.entries_max) - 1),
      buckets_(new std::atomic<CachedCredential*>[bucket_mask_ + 1]()),
      table_lock_(rcu::LockClass::kCredential) {}

CredentialCache::~CredentialCache() {
  rcu::Barrier();  // deferred callbacks elsewhere may still hold references
  while (!idle_.empty()) {
    CachedCredential& credential = idle_.front();
    idle_.pop_front();
    Unlink(credential);
    CachedCredential::FreeAfterGracePeriod(&credential);
  }
  rcu::Barrier();
}

std::atomic<CachedCredential*>& CredentialCache::BucketOf(uint64_t hash) const {
  return buckets_[hash & bucket_mask_];
}

const CachedCredential* CredentialCache::LookupNonblock(const Credential& credential) const {
  const CachedCredential* found =
      BucketOf(credential.hash()).load(std::memory_order_acquire);  // O1: pairs with Link()
  while (found != nullptr && !found->Matches(credential)) {
    found = found->next_.load(std::memory_order_acquire);  // O1: pairs with Link()
  }
  if (found == nullptr) return nullptr;
  const uint32_t state = found->state_.load(std::memory_order_acquire);  // O2: pairs with SetUp()
  return state == kUsable ? found : nullptr;
}

CachedCredential* CredentialCache::FindLocked(const Credential& credential) const {
  CachedCredential* found = BucketOf(credential.hash()).load(std::memory_order_relaxed);
  while (found != nullptr && !found->Matches(credential)) {
    found = found->next_.load(std::memory_order_relaxed);
  }
  return found;
}

std::expected<CredentialRef, std::errc> CredentialCache::Lookup(const Credential& credential) {
  CachedCredential* found;
  {
    std::lock_guard lock(table_lock_);
    found = FindLocked(credential);
    if (found != nullptr) ReferenceLocked(*found);
  }
  if (found == nullptr) {
    found = Create(credential);
    if (found == nullptr) return std::unexpected(std::errc::not_enough_memory);
  }
  CredentialRef reference(found);
  if (const std::errc error = SetUp(*found); error != std::errc{}) return std::unexpected(error);
  return reference;
}

// A NEW or usable object with one reference, not in the table; nullptr if memory is short.
CachedCredential* CredentialCache::Allocate(const Credential& credential) {
  std::optional<Credential> key;
  try {
    key = credential;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  CachedCredential* const memory = pool_.Allocate();
  if (memory == nullptr) return nullptr;
  const uint32_t state = set_up_ ? kHashed | kNew : kHashed;
  return ::new (memory) CachedCredential(*this, *std::move(key), state);
}

CachedCredential* CredentialCache::Create(const Credential& credential) {
  CachedCredential* created = Allocate(credential);
  if (created == nullptr) return nullptr;
  NFSWALK_SYNC_POINT("credential_cache:created");
  CachedCredential* found;
  IdleList dropped;
  {
    std::lock_guard lock(table_lock_);
    found = FindLocked(credential);  // another thread may have been quicker
    if (found != nullptr) {
      ReferenceLocked(*found);
    } else {
      Link(*created);
      PruneLocked(rcu::CoarseNowNs(), dropped);
    }
  }
  dropped.clear_and_dispose(&CachedCredential::FreeAfterGracePeriod);
  if (found == nullptr) return created;
  CachedCredential::Free(created);
  return found;
}

// Preconditions: the table lock is held and `credential` is hashed.
void CredentialCache::ReferenceLocked(CachedCredential& credential) {
  if (credential.references_.fetch_add(1, std::memory_order_relaxed) == 0) {
    idle_.erase(IdleList::s_iterator_to(credential));
  }
}

CredentialRef CredentialCache::TakeReference(const CachedCredential* borrowed) {
  auto& credential = const_cast<CachedCredential&>(*borrowed);
  // While another reference is held the object stays hashed (I3; it is not NEW).
  uint64_t count = credential.references_.load(std::memory_order_relaxed);
  while (count != 0) {
    if (credential.references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) {
      return CredentialRef(&credential);
    }
  }
  NFSWALK_SYNC_POINT("credential_cache:take-idle");
  std::lock_guard lock(table_lock_);
  if ((credential.state_.load(std::memory_order_relaxed) & kHashed) == 0) return CredentialRef();
  ReferenceLocked(credential);
  return CredentialRef(&credential);
}

void CredentialCache::Put(CachedCredential& credential) {
  uint64_t count = credential.references_.load(std::memory_order_relaxed);
  while (count > 1) {
    // Release: what this holder did with the object precedes its end, see the acquire below.
    if (credential.references_.compare_exchange_weak(
            count, count - 1, std::memory_order_release,  // pairs with Put(), the last one
            std::memory_order_relaxed)) {
      return;
    }
  }
  NFSWALK_SYNC_POINT("credential_cache:put-last");
  {
    std::lock_guard lock(table_lock_);
    // Acquire: the end of the object follows what earlier holders did; pairs with Put() above.
    if (credential.references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      return;  // revived while we waited for the lock
    }
    if ((credential.state_.load(std::memory_order_relaxed) & kHashed) != 0) {
      credential.idle_since_ns_ = rcu::CoarseNowNs();
      idle_.push_back(credential);
      return;
    }
  }
  CachedCredential::FreeAfterGracePeriod(&credential);
}

size_t CredentialCache::Prune(uint64_t now_ns) {
  IdleList dropped;
  size_t count;
  {
    std::lock_guard lock(table_lock_);
    count = PruneLocked(now_ns, dropped);
  }
  dropped.clear_and_dispose(&CachedCredential::FreeAfterGracePeriod);
  return count;
}

// Moves to `dropped` what has been idle for too long, and above the size limit whatever is idle.
// Preconditions: the table lock is held.
size_t CredentialCache::PruneLocked(uint64_t now_ns, IdleList& dropped) {
  size_t count = 0;
  while (!idle_.empty()) {
    CachedCredential& longest_idle = idle_.front();
    const uint64_t since_ns = longest_idle.idle_since_ns_;
    const bool expired = now_ns > since_ns && now_ns - since_ns > limits_.idle_ns;
    if (!expired && size() <= limits_.entries_max) break;
    idle_.pop_front();
    Unlink(longest_idle);
    dropped.push_back(longest_idle);
    ++count;
  }
  return count;
}

// Preconditions: the table lock is held.
void CredentialCache::Link(CachedCredential& credential) {
  std::atomic<CachedCredential*>& bucket = BucketOf(credential.hash_);
  credential.next_.store(bucket.load(std::memory_order_relaxed), std::memory_order_relaxed);
  bucket.store(&credential, std::memory_order_release);  // O1: pairs with LookupNonblock()
  size_.store(size() + 1, std::memory_order_relaxed);
}

// `next_` keeps its value for readers that stand on the object.
// Preconditions: the table lock is held, or no other thread uses the cache.
void CredentialCache::Unlink(CachedCredential& credential) {
  std::atomic<CachedCredential*>* link = &BucketOf(credential.hash_);
  while (link->load(std::memory_order_relaxed) != &credential) {
    link = &link->load(std::memory_order_relaxed)->next_;
  }
  link->store(credential.next_.load(std::memory_order_relaxed),
              std::memory_order_release);  // O1: pairs with LookupNonblock()
  credential.state_.fetch_and(~kHashed, std::memory_order_relaxed);
  size_.store(size() - 1, std::memory_order_relaxed);
}

// Runs the set-up of a NEW object unless another thread has. After a failure all waiters return its
// error; the object is unhashed by then, so that the next Lookup() creates another.
std::errc CredentialCache::SetUp(CachedCredential& credential) {
  if ((credential.state_.load(std::memory_order_acquire) & kNew) == 0) {  // O2: pairs with SetUp()
    return {};
  }
  std::lock_guard set_up_lock(set_up_mutex_);
  if ((credential.state_.load(std::memory_order_relaxed) & kNew) == 0) return {};
  if (credential.set_up_error_ == std::errc{}) {
    credential.set_up_error_ = set_up_(credential.key());
    if (credential.set_up_error_ == std::errc{}) {
      credential.state_.fetch_and(
          ~kNew, std::memory_order_release);  // O2: pairs with LookupNonblock() and SetUp()
      return {};
    }
    std::lock_guard lock(table_lock_);
    Unlink(credential);
  }
  return credential.set_up_error_;
}

}  // namespace nfswalk::sunrpc_auth
