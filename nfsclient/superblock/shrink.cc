// The superblock's part in a shortage of memory: its caches shrink and grow again.
#include <algorithm>
#include <new>
#include <utility>

#include "nfsclient/superblock/superblock.h"
#include "rcu/defer.h"

namespace nfswalk::nfs {
namespace {

constexpr size_t kPruneBatch = 64;
constexpr size_t kShare = 4;

// The limit after a quarter of `cached` objects was given up. Never rises.
size_t Lowered(size_t cached, size_t limit) {
  return std::min(limit, std::max(cached - cached / kShare, kLeastObjects));
}

size_t Raised(size_t limit, size_t of_mount) { return limit < of_mount / 2 ? 2 * limit : of_mount; }

// Destroys dentries until no more than `left` are there. The second chance costs each one more
// visit.
void PruneTo(vfs::DentryCache& dentries, size_t left) {
  for (size_t visits = 2 * dentries.size(); visits > 0 && dentries.size() > left;) {
    const size_t batch = std::min({kPruneBatch, visits, dentries.size() - left});
    dentries.Prune(batch);
    visits -= batch;
  }
}

size_t Excess(size_t cached, size_t limit) { return cached - std::min(cached, limit); }

}  // namespace

void Superblock::SetLimits(size_t dentries_max, size_t inodes_max, size_t access_entries_max) {
  dentries.SetLimits(dentries_max, inodes_max);
  inodes->SetLimit(inodes_max);
  access_lru.SetLimit(access_entries_max);
}

void Superblock::Shrink() {
  const auto cached = [this] { return dentries.size() + inodes->size() + access_lru.entries(); };
  const size_t before = cached();
  dirty_files.Shrink();
  SetLimits(Lowered(dentries.size(), dentries.limit()), Lowered(inodes->size(), inodes->limit()),
            Lowered(access_lru.entries(), access_lru.limit()));
  // Names before inodes, which they hold.
  PruneTo(dentries, dentries.limit());
  inodes->Prune(Excess(inodes->size(), inodes->limit()));
  access_lru.Shrink(Excess(access_lru.entries(), access_lru.limit()));
  rcu::Barrier();  // until then slabs hold what was given up
  dentries.Trim();
  inodes->Trim();
  access_lru.Trim();
  shrunk_objects_ += Excess(before, cached());
  ++shrinks_;
}

bool Superblock::Grow() {
  dirty_files.Grow();
  SetLimits(Raised(dentries.limit(), cache_limits.dentries),
            Raised(inodes->limit(), cache_limits.inodes),
            Raised(access_lru.limit(), cache_limits.access_entries));
  return dentries.limit() == cache_limits.dentries && inodes->limit() == cache_limits.inodes &&
         access_lru.limit() == cache_limits.access_entries;
}

void Superblock::WatchMemory() try {
  if (!memory_watched_.exchange(true)) WatchMemory(MemoryWatcher::OfProcess());
} catch (const std::bad_alloc&) {
  // The caches keep their limits.
}

void Superblock::WatchMemory(std::shared_ptr<MemoryWatcher> watcher) {
  memory_watch_.emplace(
      std::move(watcher),
      MemoryWatcher::Caches{
          .shrink = [](void* superblock) { static_cast<Superblock*>(superblock)->Shrink(); },
          .grow = [](void* superblock) { return static_cast<Superblock*>(superblock)->Grow(); },
          .object = this});
}

}  // namespace nfswalk::nfs
