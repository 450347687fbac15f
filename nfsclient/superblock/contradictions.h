// contradictions: what late replies have shown of inodes whose attributes are invalid since
// (ATTR-9), so that replies that show the same do not keep each other from being the latest for
// ever.
//
// Bounded: the oldest are forgotten, which costs a GETATTR.
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_CONTRADICTIONS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_CONTRADICTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "nfsclient/protocol/protocol.h"
#include "rcu/spin_lock.h"

namespace nfswalk::nfs {

class Contradictions {
 public:
  static constexpr size_t kMax = 64;

  // `generation`: of the inode's attributes since `reply` made them invalid; no two inodes of the
  // mount have the same.
  void Add(uint64_t generation, const protocol::Attributes& reply) {
    const std::lock_guard guard(lock_);
    replies_[added_++ % kMax] = {generation, reply};
  }
  std::optional<protocol::Attributes> Find(uint64_t generation) const {
    const std::lock_guard guard(lock_);
    for (const Reply& reply : replies_) {
      if (reply.generation == generation) return reply.attributes;
    }
    return std::nullopt;
  }

 private:
  struct Reply {
    uint64_t generation = 0;  // 0: none
    protocol::Attributes attributes;
  };

  mutable rcu::SpinLock lock_{rcu::LockClass::kLeaf};
  std::array<Reply, kMax> replies_{};  // this and below: guarded by lock_
  size_t added_ = 0;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_CONTRADICTIONS_H_
