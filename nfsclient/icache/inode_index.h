// inode_index: an index of inodes that belongs to one file system: its hash (policy H8), and its
// iter_inodes operation (L3).
//
// A table of its own, ordered by hash, in shards with a lock each, which no other superblock
// shares. The cursor of an iteration is a hash, not an inode, so that nothing has to be kept in
// place and no list is needed beside it: the best part is no part.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_ICACHE_INODE_INDEX_H_
#define NFSWALK_NFSCLIENT_ICACHE_INODE_INDEX_H_

#include <cstddef>
#include <system_error>

#include "nfsclient/icache/inode_operations.h"
#include "nfsclient/icache/inode_table.h"

namespace nfswalk::icache {

class InodeIndex : public StripedInodeTable {
 public:
  // Throws std::bad_alloc.
  explicit InodeIndex(size_t initial_buckets = 1024, size_t max_load = 1);

  // InodeCache::IterInodes(). Inodes are taken in batches, one lock acquisition each; what is
  // visited was alive when its batch was taken. not_enough_memory ends it early; only a bucket
  // of more than 128 inodes needs any.
  std::errc IterInodes(const IterOptions& options, const InodeVisitor& visit);
  // InodeCache::IterInodesUnsafe().
  std::errc IterInodesUnsafe(const UnsafeInodeVisitor& visit);

 private:
  static constexpr size_t kShards = 64;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_INDEX_H_
