// contradictions: what late replies have shown of inodes whose attributes have been invalid since
// then (ATTR-9), so that replies to threads that ask at the same time do not keep each other from
// being the latest for ever.
//
// Bounded: one that is forgotten costs a GETATTR. Thread safety: all functions.
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
  struct Contradiction {
    protocol::Attributes shown;
    int number = 0;  // of those since the attributes were valid: 1 for the first
  };

  // `generation`: of the inode's attributes since this one; no two inodes of the mount have the
  // same.
  void Add(uint64_t generation, const Contradiction& contradiction) {
    const std::lock_guard guard(lock_);
    slots_[generation % slots_.size()] = {generation, contradiction};
  }
  std::optional<Contradiction> Find(uint64_t generation) const {
    const std::lock_guard guard(lock_);
    const Slot& slot = slots_[generation % slots_.size()];
    return slot.generation == generation ? std::optional(slot.contradiction) : std::nullopt;
  }

 private:
  struct Slot {
    uint64_t generation = 0;  // 0: unused
    Contradiction contradiction;
  };

  mutable rcu::SpinLock lock_{rcu::LockClass::kLeaf};
  std::array<Slot, 64> slots_{};  // guarded by lock_
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_CONTRADICTIONS_H_
