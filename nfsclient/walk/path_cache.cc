#include "nfsclient/walk/path_cache.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "nfsclient/vfs/name.h"

namespace nfswalk::walk {

namespace {

// Deletes the cache when its thread exits. Calls by other thread_local objects' destructors, which
// may run later, have none.
struct ThreadExit {
  PathCache* cache = nullptr;
  bool has_run = false;

  ~ThreadExit() {
    has_run = true;
    delete std::exchange(cache, nullptr);
  }
};

}  // namespace

PathCache* PathCache::OfThread() {
  thread_local ThreadExit at_exit;
  if (at_exit.cache == nullptr) {
    if (at_exit.has_run) return nullptr;
    std::unique_ptr<PathCache> created(new (std::nothrow) PathCache);
    if (created == nullptr || !created->Grow(kSetsAtFirst)) return nullptr;
    at_exit.cache = created.release();
  }
  PathCache& cache = *at_exit.cache;
  const bool crowded = cache.conflict_evictions_ > cache.set_count_ * kSlots / 2;
  if (crowded && cache.set_count_ < kSetsMax) [[unlikely]]
    cache.Grow(std::min(4 * cache.set_count_, kSetsMax));
  return &cache;
}

// Empties the cache. False, and unchanged, without memory.
bool PathCache::Grow(size_t set_count) {
  conflict_evictions_ = 0;
  std::unique_ptr<Set[]> sets(new (std::nothrow) Set[set_count]);
  std::unique_ptr<Entry[]> entries(new (std::nothrow) Entry[set_count * kSlots]);
  std::unique_ptr<Directories[]> directories(new (std::nothrow) Directories[set_count * kSlots]);
  if (sets == nullptr || entries == nullptr || directories == nullptr) return false;
  sets_ = std::move(sets);
  entries_ = std::move(entries);
  directories_ = std::move(directories);
  set_count_ = set_count;
  return true;
}

PathCache::Prefix PathCache::PrefixKeyOf(std::string_view text, const nfs::Superblock& superblock,
                                         const sunrpc_auth::CachedCredential* credential) {
  if (text.empty() || text.size() > kTextMax) return {};
  return {text, superblock.mount_id, credential, vfs::HashPath(text, superblock.mount_id)};
}

const vfs::Dentry* PathCache::FindOwn(const Prefix& prefix, const nfs::Superblock& superblock,
                                      uint64_t now_ns, Position* position) const {
  const Hit hit = Lookup(prefix.own_hash());
  if (hit.entry == nullptr || !IsValid(*hit.entry, prefix, superblock, now_ns) ||
      !hit.entry->Serves(prefix.credential)) {
    return nullptr;
  }
  *position = hit.position();
  return hit.directory;
}

bool PathCache::ShouldInsert(uint64_t hash) {
  Set& set = sets_[SetOf(hash)];
  if (set.last_miss == hash || set.slots.back() == 0 || set.Find(hash) != kSlots) return true;
  set.last_miss = hash;
  return false;
}

// Whether what has changed since the entry's sample was elsewhere; gives it a newer one then,
// unless a change is in flight.
[[gnu::noinline]] bool PathCache::Resample(Entry& entry, const nfs::Superblock& superblock) const {
  const auto& [keys, changes] = directories_[static_cast<size_t>(&entry - entries_.get())];
  if (!keys.fit()) return false;
  const auto sample = superblock.directory_changes.TrySample();  // before the sum (Contract)
  if (superblock.directory_changes.Sum(keys) != changes) return false;
  if (sample) entry.sample = *sample;
  return true;
}

// False for an entry that will never be valid again, as far as can be told from this mount.
bool PathCache::MayBeValid(Entry& entry, const nfs::Superblock& superblock, uint64_t now_ns) const {
  if (entry.mount == 0 || entry.validity.until_ns <= now_ns) return false;
  if (entry.mount != superblock.mount_id) return true;
  return IsUnchanged(entry, superblock);
}

// The slot that has the hash; else the first whose entry is not valid, so that the last one is
// filled last (ShouldInsert() looks at that alone); else one that depends on the hash alone, so
// that prefixes in turns do not evict the whole set.
size_t PathCache::SlotFor(uint64_t hash, const nfs::Superblock& superblock, uint64_t now_ns) {
  const size_t set = SetOf(hash);
  if (const size_t slot = sets_[set].Find(hash); slot != kSlots) return slot;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (!MayBeValid(entries_[set * kSlots + slot], superblock, now_ns)) return slot;
  }
  ++conflict_evictions_;
  return (hash >> 24) % kSlots;
}

void PathCache::Insert(const Prefix& prefix, const Position& position,
                       const nfs::Superblock& superblock, uint64_t sample,
                       const ValidityInterval& validity, uint64_t now_ns) {
  const uint64_t changes = walked_.fit() ? superblock.directory_changes.Sum(walked_) : 0;
  if (!superblock.directory_changes.Validate(sample)) return;
  uint64_t hash = prefix.hash;
  if (Entry* const shared = FindShareable(prefix, position, superblock, sample, now_ns)) {
    if (!shared->full()) {
      *std::ranges::find(shared->credentials, nullptr) = prefix.credential;
      shared->validity.Narrow(validity);
      return;
    }
    hash = prefix.own_hash();
    if (!ShouldInsert(hash)) return;
  }
  const size_t set = SetOf(hash), slot = SlotFor(hash, superblock, now_ns);
  sets_[set].Put(slot, hash, position.dentry);
  directories_[set * kSlots + slot] = {walked_, changes};
  Entry& entry = entries_[set * kSlots + slot];
  entry.mount = prefix.mount;
  entry.sample = sample;
  entry.validity = validity;
  entry.seq = position.seq;
  entry.inode = position.inode;
  entry.credentials = {prefix.credential};
  entry.length = static_cast<uint16_t>(prefix.text.size());
  std::memcpy(entry.bytes.data(), prefix.text.data(), prefix.text.size());
}

// The valid entry of other credentials for this prefix and position; nullptr if there is none.
PathCache::Entry* PathCache::FindShareable(const Prefix& prefix, const Position& position,
                                           const nfs::Superblock& superblock, uint64_t sample,
                                           uint64_t now_ns) {
  const Hit hit = Lookup(prefix.hash);
  Entry* const entry = hit.entry;
  const bool shareable = entry != nullptr && IsValid(*entry, prefix, superblock, now_ns) &&
                         entry->sample == sample && !entry->Serves(prefix.credential) &&
                         hit.position() == position;
  return shareable ? entry : nullptr;
}

}  // namespace nfswalk::walk
