#include "nfsclient/superblock/node_id.h"

#include <algorithm>
#include <cstring>

namespace nfswalk::nfs {

NodeId NodeIdOf(const icache::Inode& inode) {
  const protocol::FileHandle handle = inode.handle();
  const auto bytes = handle.bytes();
  // A handle that the server has used again for another type is another file (INODE-11).
  uint64_t hash = rcu::Mix64(bytes.size(), static_cast<uint64_t>(inode.type.load()));
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    hash = rcu::Mix64(hash, word);
  }
  return {inode.fileid, hash};
}

}  // namespace nfswalk::nfs
