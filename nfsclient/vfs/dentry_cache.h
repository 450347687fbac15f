// dentry_cache: the dentries of a mount, positive and negative, in one RCU hash table.
//
// Contract    FindRcu() may miss a dentry that is there: a rename or a growing table can divert a
//             reader (WALK-6). Lookup() takes a
//             reference and is authoritative: it repeats a miss that a rename may have caused.
//             Insert() keeps at most one hashed dentry of each (parent, name).
// Protocol    locked: lock chain; search; take a reference; unlock.
//             here:   search; sample seq; compare {hash, parent, name}; the caller re-checks seq
//                     once it has read what it wants (hand-over-hand, WALK-3).
// Ordering    O1 SeqCount::WriteEnd() -> SeqCount::Begin(): a key that matches is whole.
//             O2 HashTable insert (release) -> FindRcu() (acquire): a found dentry is complete.
// Staleness   the dentry may be dropped or moved between the match and the caller's check of seq.
// Progress    FindRcu() is bounded by the chain. Lookup() and Parent() repeat if a rename happened
//             meanwhile, and keep renames out after 16 tries.
// Lifetime    count 0 and hashed: cached, on the LRU, revived by any Lookup(). Unhashed: destroyed
//             with its last reference. A child's reference keeps every directory above it.
// Tests       tests/unit/nfsclient/vfs/dentry_cache_test.cc, tests/race/dentry_race_test.cc
#ifndef NFSWALK_NFSCLIENT_VFS_DENTRY_CACHE_H_
#define NFSWALK_NFSCLIENT_VFS_DENTRY_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/icache/inode_cache.h"
#include "nfsclient/icache/lru_list.h"
#include "nfsclient/vfs/dentry.h"
#include "nfsclient/vfs/name.h"
#include "rcu/byte_pool.h"
#include "rcu/hash_table.h"
#include "rcu/keyed_change_count.h"
#include "rcu/object_pool.h"
#include "rcu/read_guard.h"
#include "rcu/spin_lock.h"
#include "rcu/sync_point.h"

namespace nfswalk::vfs {

class DentryCache;

// A counted reference. Move-only; Copy() takes another.
class DentryRef {
 public:
  DentryRef() = default;
  DentryRef(DentryCache* cache, Dentry* dentry) : cache_(cache), dentry_(dentry) {}
  DentryRef(DentryRef&& other) noexcept
      : cache_(other.cache_), dentry_(std::exchange(other.dentry_, nullptr)) {}
  DentryRef& operator=(DentryRef&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(dentry_, other.dentry_);
    return *this;
  }
  ~DentryRef();

  Dentry* get() const { return dentry_; }
  Dentry* operator->() const { return dentry_; }
  Dentry& operator*() const { return *dentry_; }
  explicit operator bool() const { return dentry_ != nullptr; }
  DentryRef Copy() const;
  // Stable for as long as the reference is held.
  icache::Inode* inode() const { return dentry_->inode.load(std::memory_order_relaxed); }

 private:
  DentryCache* cache_ = nullptr;
  Dentry* dentry_ = nullptr;
};

// kUnknown: a rename interfered.
enum class Below { kYes, kNo, kUnknown };

class DentryCache {
 public:
  // `initial_buckets`: the table begins with as many chains, and doubles at a mean of
  // `names_per_chain`. `directory_changes`, which outlives the cache, counts directories that are
  // dropped or moved. `inodes_max`: the limit of the cache whose inodes the dentries hold.
  explicit DentryCache(rcu::KeyedChangeCount& directory_changes, size_t dentries_max,
                       size_t initial_buckets = 1024, size_t names_per_chain = 1,
                       size_t inodes_max = SIZE_MAX);
  // Preconditions: no references but the root's, no walker inside.
  ~DentryCache();

  // Takes over the inode reference. Once, at mount.
  DentryRef MakeRoot(icache::InodeRef inode);

  // __d_lookup_rcu: the child called `name`, and in *seq the sample in which {hash, parent, name}
  // matched; nullptr: a miss.
  // Preconditions: RCU section.
  Dentry* FindRcu(const Dentry* parent, const Name& name, uint64_t* seq) const;

  // Prepares for a Lookup() of a name with this hash: its bucket, some time later the first dentry.
  void PrefetchBucket(uint64_t hash) const {
    const rcu::ReadGuard guard;
    table_.PrefetchHead(hash);
  }
  void PrefetchDentry(uint64_t hash) const {
    const rcu::ReadGuard guard;
    table_.PrefetchFirst(hash);
  }

  // lockref_get_not_dead: a reference on a dentry found under RCU; empty if it is being destroyed.
  // The caller re-checks its sample afterwards and, on a mismatch, drops the reference outside of
  // the section. Preconditions: RCU section.
  DentryRef TryReference(Dentry* dentry);

  // Preconditions: a reference on `parent`; no RCU section.
  DentryRef Lookup(Dentry& parent, const Name& name);
  // dget_parent: the current parent.
  DentryRef Parent(Dentry& child);
  // take_dentry_name_snapshot: its parent and its name there, both of one moment; the last ones it
  // had if it was dropped. Throws std::bad_alloc.
  std::pair<DentryRef, std::string> NameOf(Dentry& child);

  // The dentries of an inode that are hashed, 16 at most (i_dentry): a search of the whole table,
  // for the rare case. Preconditions: a reference on the inode; no RCU section.
  std::array<DentryRef, 16> DentriesOf(const icache::Inode& inode);

  // is_subdir: whether `dentry` was `directory` or below it at one moment of the call.
  // Preconditions: RCU section.
  Below IsBelow(const Dentry& directory, const Dentry& dentry) const;

  // Adds a dentry; `inode` empty for a negative one. Returns the existing one if the name has one.
  // Empty without memory, or if the inode is a directory with a dentry: it never has two (WALK-22).
  DentryRef Insert(Dentry& parent, const Name& name, icache::InodeRef inode, uint64_t verifier);

  // d_find_alias: the live dentry of a directory, the latest of a regular file, hashed or not;
  // empty if there is none, or if the latest is gone.
  DentryRef AliasOf(icache::Inode& inode);

  // d_drop: unhashes it. Idempotent.
  void Drop(Dentry& dentry);

  // d_move: moves a dentry to a new parent and name, with the verifier that is valid there, and
  // drops the dentry that was there. not_enough_memory, or too_many_symbolic_link_levels if it
  // would become its own ancestor; nothing has changed then. Preconditions: references on both.
  std::errc Move(Dentry& dentry, Dentry& new_parent, const Name& new_name, uint64_t verifier);

  // d_mark_dontcache: the dentry and its inode are destroyed with the last reference. Does nothing
  // if the dentry was used before, so that a scan does not evict other users' entries.
  void MarkDontCache(Dentry& dentry);

  void Put(Dentry* dentry);

  // The limit of dentries, and that of the inodes that they hold, from now on.
  void SetLimits(size_t dentries_max, size_t inodes_max);
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Hands unused memory back to the system, after a grace period.
  void Trim();

  // Destroys up to `count` unused dentries out of at most 64 examined; returns how many. Allocates
  // nothing.
  size_t Prune(size_t count);

  // True near the limit of dentries or inodes: walks then mark the dentries they use, one store per
  // dentry and reclaim cycle, for the second chance. Otherwise a walk stores nothing.
  bool under_pressure() const { return under_pressure_.load(std::memory_order_relaxed); }
  void MarkUsed(Dentry& dentry) const;

  size_t size() const { return live_.load(std::memory_order_relaxed); }

 private:
  struct Traits {
    static std::atomic<Dentry*>& Next(Dentry& dentry) { return dentry.hash_next; }
    static uint64_t Hash(const Dentry& dentry) {
      return dentry.hash.load(std::memory_order_relaxed);
    }
    // The lines of the inode that a stat reads.
    static const void* Companion(const Dentry& dentry) {
      return dentry.inode.load(std::memory_order_relaxed);
    }
    static constexpr size_t kCompanionBytes = 192;
  };

  using Table = rcu::HashTable<Dentry, Traits>;

  std::unique_lock<rcu::SpinLock> KeepRenamesOut(int tries);
  template <class Read>
  DentryRef ParentAnd(Dentry& child, Read&& read);
  static bool BecomeAlias(icache::Inode& inode, Dentry* dentry);
  static bool Matches(const Dentry& dentry, const Dentry* parent, const Name& name);
  Dentry* Allocate(Dentry& parent, const Name& name, icache::Inode* inode, uint64_t verifier);
  static bool IsAncestor(const Dentry& ancestor, const Dentry& dentry);
  bool AllocateLongName(const Name& name, rcu::ByteString** text);
  void SetName(Dentry& dentry, const Name& name, rcu::ByteString* long_name);
  void Unhash(Table::Chain& chain, Dentry& dentry);
  // Leaves the write window open. False, with the window closed, if the dentry has been dropped.
  bool TryUnhash(Dentry& dentry);
  void LeaveChain(Dentry& dentry);
  void Retain(Dentry& dentry);
  // Returns the parent, whose reference the caller now has to drop.
  Dentry* Destroy(Dentry* dentry);
  void UpdatePressure();

  rcu::KeyedChangeCount& directory_changes_;
  std::atomic<size_t> limit_;
  std::atomic<size_t> pressure_at_;
  rcu::ObjectPool<Dentry> pool_;
  rcu::BytePool long_names_;
  Table table_;
  // Serializes renames; readers of `rename_seq_` repeat a miss (WALK-6).
  rcu::SpinLock rename_lock_{rcu::LockClass::kRename};
  rcu::SeqCount rename_seq_;
  icache::LruList<Dentry> lru_;
  std::atomic<size_t> live_{0};
  std::atomic<bool> under_pressure_{false};
};

inline DentryRef::~DentryRef() {
  if (dentry_ != nullptr) cache_->Put(dentry_);
}

inline bool DentryCache::Matches(const Dentry& dentry, const Dentry* parent, const Name& name) {
  return dentry.hash.load(std::memory_order_relaxed) == name.hash &&
         dentry.parent.load(std::memory_order_relaxed) == parent && dentry.HasName(name);
}

[[gnu::always_inline]] inline Dentry* DentryCache::FindRcu(const Dentry* parent, const Name& name,
                                                           uint64_t* seq) const {
  return table_.FindRcu(name.hash, [&](const Dentry& dentry) {
    NFSWALK_SYNC_POINT("dentry:before-sample");
    *seq = dentry.seq.Begin();
    return Matches(dentry, parent, name);  // compares the hash again: I2 of dentry.h
  });
}

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_DENTRY_CACHE_H_
