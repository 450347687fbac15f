// inode_operations: what a file system does for the inode cache (super_operations), and how inodes
// are visited.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_OPERATIONS_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_OPERATIONS_H_

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <system_error>

#include "nfsclient/icache/inode.h"

namespace nfswalk::icache {

class InodeIndex;

enum class IterStep : uint8_t {
  kNext,
  kStop,  // ends the iteration without an error
};

// An error ends the iteration and is its result.
using InodeVisitor = std::function<std::expected<IterStep, std::errc>(Inode&)>;

// For iterations without references.
struct UnsafeInodeVisitor {
  // Must not block.
  std::function<IterStep(Inode&)> visit;
  // Called after each batch of visits, also the last one, with no lock held and outside of RCU
  // sections. May block; the inodes of the batch may be gone when it returns.
  std::function<void()> pause = [] {};
};

struct IterOptions {
  // INO_ITER_REFERENCE: leave out inodes without a reference.
  bool referenced_only = false;
  // Asked under the inode's lock, before the reference is taken; must not block. Empty: all pass.
  std::function<bool(const Inode&)> filter;
};

// Thread safety: the cache calls every function from any thread, at the same time.
class InodeOperations {
 public:
  virtual ~InodeOperations() = default;

  // The inode has lost its last reference and is no longer listed, but others may still find it in
  // the hash, compare its identity, and wait: the identity stays, what else the file system keeps
  // goes (evict_inode). May block.
  virtual void EvictInode(Inode&) {}

  // Comes after EvictInode(). No lookup finds the inode any more, but those that began before may
  // compare its identity: what that keeps outside of the inode is to be freed after a grace period
  // (destroy_inode). Must not block.
  virtual void DestroyInode(Inode&) {}

  // Writes back dirty attributes (write_inode). May block.
  virtual std::errc WriteInode(Inode&) { return {}; }

  // The file system's own index, for HashPolicy::kIndex; nullptr if it keeps none. Called once.
  virtual std::shared_ptr<InodeIndex> index() { return nullptr; }

  // The iter_inodes operation, for ListPolicy::kNone, with the rules of InodeCache::IterInodes()
  // and of IgetFamily::IterInodesUnsafe().
  virtual bool can_iterate() const { return false; }
  virtual std::errc IterInodes(const IterOptions&, const InodeVisitor&) { return {}; }
  virtual std::errc IterInodesUnsafe(const UnsafeInodeVisitor&) { return {}; }
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_OPERATIONS_H_
