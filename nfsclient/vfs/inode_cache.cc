#include "nfsclient/vfs/inode_cache.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "nfsclient/vfs/name.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"

namespace nfswalk::vfs {

namespace {

// Two rounds of a 64-bit finaliser: file ids use high bits and strides, on which one multiplication
// leaves long chains (icache 2.2).
uint64_t HashFileId(uint64_t fileid) {
  uint64_t h = fileid ^ hash_seed;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
  return (h ^ (h >> 33)) | 1;
}

constexpr size_t kPruneBatch = 64;

}  // namespace

struct InodeCache::Key {
  const protocol::FileHandle& handle;
  uint64_t fileid;
  protocol::FileType type;
  uint64_t hash;

  // The RCU form (icache 1.7): reads only the identity, which is immutable, and flags, which can
  // turn a match into a legal miss.
  bool operator()(const Inode& inode) const {
    return inode.fileid == fileid && inode.type.load(std::memory_order_relaxed) == type &&
           inode.HasHandle(handle) && (inode.flags.load(std::memory_order_relaxed) & kStale) == 0;
  }
};

InodeCache::InodeCache(size_t inodes_max, access_cache::AccessLru& access_lru)
    : inodes_max_(inodes_max), access_lru_(access_lru) {}

InodeCache::~InodeCache() {
  while (lru_.size() > 0) Prune(kPruneBatch);
  rcu::Barrier();
}

bool InodeCache::TryGrab(Inode& inode) {
  std::lock_guard guard(inode.lock);
  if (inode.dying) return false;
  inode.count.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Inode* InodeCache::FindAndGrab(const Key& key) {
  rcu::ReadGuard guard;
  Inode* inode = table_.FindRcu(key.hash, key);
  NFSWALK_SYNC_POINT("find:after-match");
  // The identity cannot have changed: memory is reused only after a grace period.
  return inode != nullptr && TryGrab(*inode) ? inode : nullptr;
}

Inode* InodeCache::Allocate(const Key& key) {
  auto bytes = key.handle.bytes();
  rcu::ByteString* long_handle = nullptr;
  if (bytes.size() > Inode::kInlineHandle) {
    long_handle = bytes_.Allocate({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (long_handle == nullptr) return nullptr;
  }
  Inode* inode = pool_.Allocate();
  if (inode == nullptr) {
    if (long_handle != nullptr) bytes_.FreeDeferred(long_handle);
    return nullptr;
  }
  inode->fileid = key.fileid;
  inode->type.store(key.type, std::memory_order_relaxed);
  inode->long_handle = long_handle;
  inode->handle_size = static_cast<uint8_t>(bytes.size());
  if (long_handle == nullptr) std::ranges::copy(bytes, inode->handle_bytes.begin());
  inode->hash.store(key.hash, std::memory_order_relaxed);
  inode->dying = false;
  inode->on_lru = false;
  inode->used_again = false;
  inode->flags.store(0, std::memory_order_relaxed);
  inode->invalid.store(0, std::memory_order_relaxed);
  inode->count.store(1, std::memory_order_relaxed);
  live_.fetch_add(1, std::memory_order_relaxed);
  return inode;
}

void InodeCache::FreeUnpublished(Inode* inode) {
  if (inode->long_handle != nullptr) {
    bytes_.FreeDeferred(inode->long_handle);
  }
  live_.fetch_sub(1, std::memory_order_relaxed);
  pool_.Free(inode);
}

InodeRef InodeCache::Get(const protocol::FileHandle& handle, uint64_t fileid,
                         protocol::FileType type, const std::function<void(Inode&)>& fill) {
  const Key key{handle, fileid, type, HashFileId(fileid)};
  if (Inode* found = FindAndGrab(key)) return {this, found};

  Inode* own = Allocate(key);
  if (own == nullptr) return {};
  fill(*own);
  NFSWALK_SYNC_POINT("insert:before-lock");
  Inode* other = nullptr;
  {
    std::lock_guard guard(hash_lock_);
    auto chain = table_.Lock(key.hash);
    other = chain.Find(key);
    // A dying inode does not stand in the way: the new one goes in front of it and is met first.
    if (other == nullptr || !TryGrab(*other)) {
      other = nullptr;
      chain.Insert(own);
    }
  }
  if (other != nullptr) {
    FreeUnpublished(own);
    return {this, other};
  }
  if (size() > inodes_max_) Prune(std::min<size_t>(kPruneBatch, size() - inodes_max_));
  return {this, own};
}

InodeRef InodeCache::Grab(Inode& inode) {
  inode.count.fetch_add(1, std::memory_order_relaxed);
  return {this, &inode};
}

void InodeCache::UnhashLocked(Inode& inode) {
  uint64_t hash = inode.hash.load(std::memory_order_relaxed);
  if (hash == 0) return;
  auto chain = table_.Lock(hash);
  chain.Remove(&inode);
  inode.hash.store(0, std::memory_order_relaxed);
}

void InodeCache::Unhash(Inode& inode) {
  std::lock_guard guard(hash_lock_);
  UnhashLocked(inode);
}

void InodeCache::Put(Inode* inode) {
  uint32_t count = inode->count.load(std::memory_order_relaxed);
  while (count > 1) {
    if (inode->count.compare_exchange_weak(count, count - 1,
                                           std::memory_order_release)) {  // pairs with Put(), last
      return;
    }
  }
  bool keep;
  {
    std::lock_guard guard(inode->lock);
    if (inode->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;  // pairs with Put()
    constexpr uint16_t kForgotten = kStale | kUnlinked;
    keep = (inode->flags.load(std::memory_order_relaxed) & kForgotten) == 0 &&
           inode->hash.load(std::memory_order_relaxed) != 0;
    if (keep) {
      if (inode->on_lru) {
        inode->used_again = true;
      } else {
        inode->on_lru = true;
        lru_.Add(*inode);
      }
    } else {
      inode->dying = true;
      if (std::exchange(inode->on_lru, false)) lru_.Remove(*inode);
    }
  }
  if (!keep) {
    Unhash(*inode);
    Destroy(inode);
  }
}

size_t InodeCache::Prune(size_t count) {
  std::vector<Inode*> victims;
  victims.reserve(std::min(count, kPruneBatch));
  lru_.Shrink(
      std::min(count, kPruneBatch),
      [](Inode& inode) {
        if (!inode.lock.try_lock()) return LruVerdict::kSkip;
        std::lock_guard guard(inode.lock, std::adopt_lock);
        if (inode.count.load(std::memory_order_relaxed) > 0) {
          inode.on_lru = inode.used_again = false;
          return LruVerdict::kRemove;
        }
        if (std::exchange(inode.used_again, false)) return LruVerdict::kRotate;
        inode.on_lru = false;
        inode.dying = true;
        return LruVerdict::kReclaim;
      },
      [&](Inode& inode) { victims.push_back(&inode); });
  for (Inode* inode : victims) {
    Unhash(*inode);
    Destroy(inode);
  }
  return victims.size();
}

void InodeCache::Destroy(Inode* inode) {
  inode->access.Clear(access_lru_);
  if (auto* body = inode->link_body.exchange(nullptr, std::memory_order_relaxed)) {
    bytes_.FreeDeferred(body);
  }
  // The pointer stays: a walker may be comparing handles. Allocate() overwrites it after the grace
  // period.
  if (inode->long_handle != nullptr) bytes_.FreeDeferred(inode->long_handle);
  inode->alias.store(nullptr, std::memory_order_relaxed);
  live_.fetch_sub(1, std::memory_order_relaxed);
  pool_.FreeDeferred(inode);
}

}  // namespace nfswalk::vfs
