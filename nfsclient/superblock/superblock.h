// superblock: one mounted export: protocol, caches, options and counters.
//
// Its options and limits are constant from mount to shutdown. What changes under a walker says how
// it is validated.
// Lifetime: owned by Client; destroyed when no call is inside.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_SUPERBLOCK_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_SUPERBLOCK_H_

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "access_cache/access_lru.h"
#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/memory/memory_watcher.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/asked_delegations.h"
#include "nfsclient/superblock/cache_limits.h"
#include "nfsclient/superblock/contradictions.h"
#include "nfsclient/superblock/delegated_inodes.h"
#include "nfsclient/superblock/departed_inodes.h"
#include "nfsclient/superblock/dirty_files.h"
#include "nfsclient/superblock/expired_children.h"
#include "nfsclient/superblock/file_systems_without.h"
#include "nfsclient/superblock/flusher.h"
#include "nfsclient/superblock/invalidations.h"
#include "nfsclient/superblock/lock_table.h"
#include "nfsclient/superblock/mount_options.h"
#include "nfsclient/superblock/nfs_inode.h"
#include "nfsclient/superblock/open_inodes.h"
#include "nfsclient/superblock/stats.h"
#include "nfsclient/superblock/write_errors.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "nfsclient/vfs/file_mutexes.h"
#include "nfsclient/vfs/inode_locks.h"
#include "nfsclient/vfs/lookups_in_flight.h"
#include "rcu/counters.h"
#include "rcu/fork.h"
#include "rcu/keyed_change_count.h"
#include "sunrpc_auth/credential_cache.h"
#include "threads/task_threads.h"

namespace nfswalk::nfs {

// Indices into Superblock::counters; from kFirstNeedRef on the NeedRef reasons of each PathCall.
enum Counter : size_t {
  kRcuWalks,  // walks that ended under RCU
  kRefWalks,  // walks that ended in ref-walk
  kPeekHits,
  kSearchHits,
  kLockedHits,
  kPathHits,  // walks that began at a prefix from the path cache
  kDelegatedOpens,
  kFirstNeedRef,
  kCounters = kFirstNeedRef + kPathCallCount * kNeedRefCount,
};

class Superblock {
 public:
  // The error says which of the options do not fit and what would. Throws std::bad_alloc.
  static std::expected<std::unique_ptr<Superblock>, std::string> Create(
      std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options);
  ~Superblock();
  Superblock(const Superblock&) = delete;
  Superblock& operator=(const Superblock&) = delete;

  const uint64_t mount_id;  // unique in the process for all time; not 0
  const MountOptions options;
  const CacheLimits cache_limits;  // while memory is not short: see Shrink()
  // The lifetimes of MountOptions in nanoseconds.
  const uint64_t acregmin_ns, acregmax_ns, acdirmin_ns, acdirmax_ns;
  // How old the rights of a file, or directory, may become while its attributes do not change
  // (ACCESS-6).
  const uint64_t file_rights_ns, directory_rights_ns;

  // False with walk=ref and after Shutdown(), so that RCU-walk need not check `shut_down`.
  std::atomic<bool> walks_under_rcu;
  std::atomic<bool> shut_down{false};
  // How many delegations of directories have ended: a walk under RCU begins anew if one has
  // meanwhile, as other clients may have changed what it has passed.
  std::atomic<uint64_t> delegation_ends{0};

  std::unique_ptr<protocol::Protocol> protocol;
  protocol::ServerLimits limits;  // set once, at mount

  // Every change to what a walk through directories reads happens under a Change of this, by its
  // Inode::change_key(): the path cache validates against it (walk/path_cache.h).
  rcu::KeyedChangeCount directory_changes;

  sunrpc_auth::CredentialCache credentials;
  access_cache::AccessLru access_lru;
  DepartedInodes departed_inodes;
  Contradictions contradictions;
  InodeOperations inode_operations;
  std::unique_ptr<icache::InodeCache> inodes;
  vfs::DentryCache dentries;
  vfs::InodeLocks inode_locks;
  vfs::FileMutexes file_mutexes;
  vfs::LookupsInFlight lookups;
  ExpiredChildren expired_children;
  OpenInodes open_inodes;
  DelegatedInodes delegated_inodes;
  AskedDelegations asked_delegations;
  Invalidations invalidations;
  WriteErrors write_errors;
  DirtyFiles dirty_files;
  LockTable locks;
  FileSystemsWithout without_xattrs;
  FileSystemsWithout without_acls;
  // Memory of what was read ahead; data/read_ahead.h limits it.
  std::atomic<size_t> read_ahead_bytes{0};
  vfs::DentryRef root;
  // Asynchronous calls to the server. None waits behind another one, and so few run that the
  // references they hold beyond the limits of the caches do not matter. This and below: stopped
  // before anything is destroyed.
  static constexpr size_t kBackgroundMax = 4;
  TaskThreads background{kBackgroundMax, 0};
  Flusher flusher;
  // Returns delegations, behind calls that wait for as long as the server takes.
  static constexpr size_t kReturnsMax = 4;
  TaskThreads delegation_returns{kReturnsMax, 1};

  rcu::CounterSet<kCounters> counters;
  // ATTR-9: orders attribute replies by when their requests were sent.
  std::atomic<uint64_t> attribute_generation{1};

  void Count(Counter counter) { counters.Add(counter); }
  [[gnu::always_inline]] void Count(const AccessHits& hits) {
    if (hits.peek != 0) counters.Add(kPeekHits, hits.peek);
    if (hits.search != 0) counters.Add(kSearchHits, hits.search);
    if (hits.locked != 0) counters.Add(kLockedHits, hits.locked);
  }
  void Count(PathCall call, NeedRef reason) { counters.Add(CounterOf(call, reason)); }

  // Inodes that dentries hold cannot be evicted: beyond their limit, unused dentries go first, as
  // shrink_slab() takes names before inodes. After each dentry that is added.
  void KeepInodeLimit();
  void DropCaches();
  // For a shortage of memory: gives up a quarter of what is cached, unused and oldest first, and
  // hands the memory back. What is left is the limit from then on, but at least kLeastObjects,
  // unless the mount's is lower. Returns after a grace period.
  void Shrink();
  // Doubles limits that Shrink() lowered, up to the mount's; true if all are there.
  bool Grow();
  // Registers both with `watcher`, which calls them until the end. One thread at a time.
  void WatchMemory(std::shared_ptr<MemoryWatcher> watcher);
  // Ends every call in progress, and those to come, with operation_canceled. Idempotent; any
  // thread.
  void Shutdown();
  Stats GetStats() const;

 private:
  Superblock(std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options);
  static constexpr size_t CounterOf(PathCall call, NeedRef reason) {
    return kFirstNeedRef + static_cast<size_t>(call) * kNeedRefCount + static_cast<size_t>(reason);
  }

  void SetLimits(size_t dentries_max, size_t inodes_max, size_t access_entries_max);
  // Registers with the process's watcher, at the first large cache: the end of a trigger costs the
  // kernel a grace period, more than a short command takes.
  void WatchMemory();

  std::atomic<uint64_t> shrinks_{0};
  std::atomic<uint64_t> shrunk_objects_{0};
  std::atomic<bool> memory_watched_{false};
  std::optional<MemoryWatch> memory_watch_;
  // In the child of a fork calls end as after Shutdown().
  rcu::ForkWatch fork_watch_;
};

// Brackets a change to what walks through a directory read: search permission, its validity and
// that of the names. Does nothing for other inodes.
class DirectoryChange {
 public:
  DirectoryChange(Superblock& superblock, const icache::Inode& inode)
      : change_(superblock.directory_changes, inode.change_key()) {}

 private:
  rcu::KeyedChangeCount::Change change_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_SUPERBLOCK_H_
