// node_id: which file an inode is, as a value that a caller may keep.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_NODE_ID_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_NODE_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::nfs {

// Equal for all names and inodes of a file, through renames and evictions, and in every mount of
// the export; of no other file that the server has or had, since a file handle is never used again
// (RFC 7530 4.2.1), but for a collision of 64 bits. Is no secret: the server can make two collide.
struct NodeId {
  uint64_t fileid = 0;
  uint64_t generation = 0;  // a hash of the file handle: tells the users of one file id apart

  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

// Preconditions: RCU section or a reference.
NodeId NodeIdOf(const icache::Inode& inode);

}  // namespace nfswalk::nfs

template <>
struct std::hash<nfswalk::nfs::NodeId> {
  size_t operator()(const nfswalk::nfs::NodeId& id) const noexcept {
    return nfswalk::rcu::Mix64(id.fileid, id.generation);
  }
};

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_NODE_ID_H_
