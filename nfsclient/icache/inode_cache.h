// inode_cache: the inodes of one mount, as the client uses them: fetched by file id and identity,
// iterated, evicted. iget_family.h has the rest of the kernel's interface, for benchmarks and
// tests.
//
// Thread safety: every function from any thread, with no spinning lock held and outside of RCU
// sections.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_CACHE_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <system_error>

#include "nfsclient/icache/inode.h"
#include "nfsclient/icache/inode_operations.h"
#include "nfsclient/icache/inode_policy.h"
#include "nfsclient/icache/inode_ref.h"

namespace nfswalk::icache {

class IgetFamily;

// Distinguishes inodes with the same hash: `test`, `set` and `data` of iget5_locked().
class InodeIdentity {
 public:
  virtual ~InodeIdentity() = default;
  // Called on inodes in any state, repeatedly; must not block, take references or store
  // (INODE-11).
  virtual bool Test(const Inode& inode) const = 0;
  // Sets the identity of an unpublished inode, under the chain's lock. An error inserts nothing.
  virtual std::errc Set(Inode& inode) = 0;
};

enum class InodeError : uint8_t {
  kStale,      // a file of this key is being created (I_CREATING)
  kNoMemory,   //
  kSetFailed,  // InodeIdentity::Set() refused
  kBusy,       // the key is taken
};

// A new inode is locked by kNew: its owner completes it and calls UnlockNew(), or IgetFailed().
struct FoundInode {
  InodeRef inode;
  bool is_new;
};
using IgetResult = std::expected<FoundInode, InodeError>;

struct InodeCacheOptions {
  InodePolicy policy{};
  // Beyond it each allocation evicts unused inodes. From 16384 on a thread checks it once in 32
  // allocations and evicts as many; all together exceed it by at most a 32nd while there are unused
  // inodes.
  size_t inodes_max = 4'000'000;
  // Mean chain length at which the table doubles; 1 to 64.
  size_t chain_load = 1;
  size_t initial_buckets = 1024;
  // Shares the table of another superblock with the same policy, as the kernel's superblocks do.
  IgetFamily* share_table_with = nullptr;
};

// Acquisitions, since the cache was created, of locks that are not an inode's own.
struct LockAcquisitions {
  uint64_t global = 0;
  uint64_t sharded = 0;
  uint64_t hottest = 0;          // of the one lock most often taken
  uint64_t hottest_of_hash = 0;  // the same of those of the hash table; 0 if they are bits
};

class InodeCache {
 public:
  // The error names the option at fault and accepted values. `operations` outlives the cache.
  // Throws std::bad_alloc.
  static std::expected<std::unique_ptr<InodeCache>, std::string> Create(
      const InodeCacheOptions& options, InodeOperations& operations);
  // Preconditions: no references, no call inside. Evicts everything.
  virtual ~InodeCache() = default;

  // iget5_locked_rcu: the inode of `fileid` that `identity` accepts, with a reference; a new one if
  // there is none. Waits while it is new or dying.
  virtual IgetResult Fetch(uint64_t fileid, InodeIdentity& identity) = 0;
  // unlock_new_inode: ends kNew and wakes those who wait for it.
  virtual void UnlockNew(Inode& inode) = 0;
  // Calls visit() for every inode that is neither new nor dying, with a reference and no lock held:
  // it may block. Visits each inode that lives all the while exactly once (INODE-16).
  virtual std::errc IterInodes(const IterOptions& options, const InodeVisitor& visit) = 0;
  // Evicts every unused clean inode (evict_inodes, drop_caches); returns how many.
  virtual size_t EvictUnused() = 0;

  // prune_icache_sb: evicts up to `count` unused inodes, least recently used first; returns how
  // many. Examines at most twice as many, none twice; the second chance spares those used since.
  virtual size_t Prune(size_t count) = 0;

  // Replaces InodeCacheOptions::inodes_max. Evicts nothing.
  virtual void SetLimit(size_t inodes_max) = 0;
  virtual size_t limit() const = 0;
  // Hands unused memory back to the system, after a grace period.
  virtual void Trim() = 0;

  // All inodes; exact without concurrent changes.
  virtual size_t size() const = 0;
  virtual LockAcquisitions lock_acquisitions() const = 0;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_CACHE_H_
