// departed_inodes: the attribute generations of evicted inodes, so that a late reply cannot
// initialize a new inode with older attributes than an evicted one had (ATTR-10).
//
// An inode in memory orders replies by its own attribute_generation. Here file ids share slots: two
// that collide make a reply seem too old, which costs a GETATTR.
//
// Thread safety: any thread. A note that happens before the inode can no longer be found is seen by
// the thread that creates the next inode of the file.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_DEPARTED_INODES_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_DEPARTED_INODES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "rcu/mix64.h"

namespace nfswalk::nfs {

class DepartedInodes {
 public:
  // `generation`: of the inode's attributes, when it leaves memory.
  void Note(uint64_t fileid, uint64_t generation) { Raise(SlotOf(fileid), generation); }
  // For all files of the mount.
  void NoteAll(uint64_t generation) { Raise(all_, generation); }

  // True if the reply to a request of `generation` may be older than what an evicted inode of the
  // file had.
  bool MayBeOlder(uint64_t fileid, uint64_t generation) const {
    return all_.load(std::memory_order_relaxed) > generation ||
           SlotOf(fileid).load(std::memory_order_relaxed) > generation;
  }

 private:
  static constexpr size_t kSlots = 1024;

  static void Raise(std::atomic<uint64_t>& last, uint64_t generation) {
    uint64_t known = last.load(std::memory_order_relaxed);
    while (known < generation &&
           !last.compare_exchange_weak(known, generation, std::memory_order_relaxed)) {
    }
  }
  std::atomic<uint64_t>& SlotOf(uint64_t fileid) { return slots_[rcu::Mix64(fileid) % kSlots]; }
  const std::atomic<uint64_t>& SlotOf(uint64_t fileid) const {
    return slots_[rcu::Mix64(fileid) % kSlots];
  }

  std::atomic<uint64_t> all_{0};
  std::array<std::atomic<uint64_t>, kSlots> slots_{};
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_DEPARTED_INODES_H_
