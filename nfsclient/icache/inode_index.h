// inode_index: one file system's own index of its inodes: its hash (policy H8) and its iter_inodes
// operation (L3).
//
// A hash table of its own in shards with a lock each. The cursor of an iteration is a hash, not an
// inode: no inode has to be pinned, and no list is needed.
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

  // InodeCache::IterInodes(). References are taken in batches, one lock acquisition each; a visited
  // inode was live when its batch was taken. not_enough_memory ends it early, and is possible only
  // for a bucket of more than 128 inodes.
  std::errc IterInodes(const IterOptions& options, const InodeVisitor& visit);
  // IgetFamily::IterInodesUnsafe().
  std::errc IterInodesUnsafe(const UnsafeInodeVisitor& visitor);

 private:
  static constexpr size_t kShards = 64;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_NFSCLIENT_ICACHE_INODE_INDEX_H_
