#include "nfsclient/superblock/superblock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "rcu/coarse_clock.h"

namespace nfswalk::nfs {

namespace {
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kPruneBatch = 64;

// Half a megabyte for the inodes' table, one for the dentries', so that a walk over a source tree
// does not spend its time growing them: each doubling moves every entry.
constexpr size_t kInitialBucketsMax = 65536;
size_t InitialBuckets(size_t objects_max) { return std::min(objects_max, kInitialBucketsMax); }

// Attributes do not show that group membership or exports have changed on the server. The kernel
// asks again after the user's next login.
constexpr uint64_t kRightsLifetimeNs = 3600 * kNsPerSecond;
uint64_t RightsLifetime(uint64_t attributes_max_ns) {
  return attributes_max_ns == 0 ? 0 : std::max(attributes_max_ns, kRightsLifetimeNs);
}

uint64_t NextMountId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}
}  // namespace

Superblock::Superblock(std::unique_ptr<protocol::Protocol> protocol_of_mount,
                       const MountOptions& mount_options)
    : mount_id(NextMountId()),
      options(mount_options),
      cache_limits(LimitsOf(options)),
      acregmin_ns(options.acregmin_s * kNsPerSecond),
      acregmax_ns(options.acregmax_s * kNsPerSecond),
      acdirmin_ns(options.acdirmin_s * kNsPerSecond),
      acdirmax_ns(options.acdirmax_s * kNsPerSecond),
      file_rights_ns(RightsLifetime(acregmax_ns)),
      directory_rights_ns(RightsLifetime(acdirmax_ns)),
      walks_under_rcu(options.walk != WalkMode::kRef),
      protocol(std::move(protocol_of_mount)),
      credentials({.entries_max = options.credentials_max}),
      access_lru(cache_limits.access_entries, directory_changes),
      inode_operations(options.inode_policy, access_lru, departed_inodes),
      dentries(directory_changes, cache_limits.dentries, InitialBuckets(cache_limits.dentries),
               /*names_per_chain=*/1, cache_limits.inodes),
      dirty_files(cache_limits.dirty_bytes),
      flusher(dirty_files, std::chrono::milliseconds(options.dirty_writeback_ms)),
      fork_watch_(
          [](void* superblock) {
            static_cast<Superblock*>(superblock)->shut_down.store(true);
            static_cast<Superblock*>(superblock)->walks_under_rcu.store(false);
          },
          this) {}

std::expected<std::unique_ptr<Superblock>, std::string> Superblock::Create(
    std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options) {
  std::unique_ptr<Superblock> superblock(new Superblock(std::move(protocol), options));
  const size_t inodes_max = superblock->cache_limits.inodes;
  auto inodes = icache::InodeCache::Create({.policy = options.inode_policy,
                                            .inodes_max = inodes_max,
                                            .initial_buckets = InitialBuckets(inodes_max)},
                                           superblock->inode_operations);
  if (!inodes) return std::unexpected(std::move(inodes.error()));
  superblock->inodes = std::move(*inodes);
  return superblock;
}

Superblock::~Superblock() {
  memory_watch_.reset();
  protocol->Shutdown();
  locks.Stop();
  invalidations.Stop();
  background.Stop();
  flusher.Stop();
  delegation_returns.Stop();
  delegated_inodes.Clear();
  dirty_files.Clear();
  write_errors.Clear();
  open_inodes.TakeAll();
  root = {};
  DropCaches();
}

void Superblock::Shutdown() {
  shut_down.store(true);
  walks_under_rcu.store(false);
  locks.Stop();
  protocol->Shutdown();
  flusher.Stop();
}

void Superblock::KeepInodeLimit() {
  const size_t inodes_now = inodes->size();
  if (dentries.size() > kLeastObjects && !memory_watched_.load()) WatchMemory();
  const size_t inodes_max = inodes->limit();
  if (inodes_now > inodes_max) {
    dentries.Prune(std::min(kPruneBatch, inodes_now - inodes_max + 1));
  }
}

void Superblock::DropCaches() {
  write_errors.DropHeard();
  // Leaves first: names hold their directory, which is pruned in a later pass. The second chance
  // costs each entry one more visit, hence two rounds a pass.
  for (size_t before = SIZE_MAX; dentries.size() < before;) {
    before = dentries.size();
    for (size_t left = 2 * before; left > 0; left -= std::min(left, kPruneBatch)) {
      dentries.Prune(kPruneBatch);
    }
  }
  if (inodes != nullptr) {
    inodes->EvictUnused();
    inodes->IterInodes({}, [this](icache::Inode& in_use) {
      DirectoryChange change(*this, in_use);
      in_use.access.Clear(in_use.access_lock, access_lru);
      return icache::IterStep::kNext;
    });
  }
  // Includes those of inodes that are new or dying.
  access_lru.Shrink(access_lru.entries());
  credentials.Prune(std::numeric_limits<uint64_t>::max());
}

Stats Superblock::GetStats() const {
  Stats stats;
  stats.rcu_walks = counters.Sum(kRcuWalks);
  stats.ref_walks = counters.Sum(kRefWalks);
  stats.peek_hits = counters.Sum(kPeekHits);
  stats.search_hits = counters.Sum(kSearchHits);
  stats.locked_hits = counters.Sum(kLockedHits);
  for (size_t call = 0; call < kPathCallCount; ++call) {
    for (size_t reason = 0; reason < kNeedRefCount; ++reason) {
      const uint64_t count = counters.Sum(CounterOf(PathCall(call), NeedRef(reason)));
      stats.need_ref_of_call[call][reason] = count;
      stats.need_ref[reason] += count;
    }
  }
  stats.path_hits = counters.Sum(kPathHits);
  stats.delegated_opens = counters.Sum(kDelegatedOpens);
  stats.rpcs = protocol->rpcs_sent();
  stats.dentries = dentries.size();
  stats.inodes = inodes->size();
  stats.inode_global_locks = inodes->lock_acquisitions().global;
  stats.access_entries = access_lru.answers();
  stats.credentials = credentials.size();
  stats.dentries_max = dentries.limit();
  stats.inodes_max = inodes->limit();
  stats.access_entries_max = access_lru.limit();
  stats.limits_from = cache_limits.source;
  stats.shrinks = shrinks_;
  stats.shrunk_objects = shrunk_objects_;
  return stats;
}

}  // namespace nfswalk::nfs
