// expired_children: how many children of a directory were asked for in a row whose attributes or
// names had expired (list_ahead.h).
//
// A table of fixed size, with a cache line for the directories of one hash. Where there are more of
// them than fit, the one that was counted least recently loses its count, and with it a listing
// that would have paid.
//
// Thread safety: any. Atomics are relaxed: a count decides about RPCs, and orders nothing.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_EXPIRED_CHILDREN_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_EXPIRED_CHILDREN_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::nfs {

class ExpiredChildren {
 public:
  // One more child of the directory; returns how many there were with shorter pauses between them
  // than `pause_max_ns`, or 0 for the last one again, which several threads may ask for at once.
  size_t Add(const icache::Inode& directory, const icache::Inode& child, uint64_t now_ns,
             uint64_t pause_max_ns) {
    return Count(directory, child, now_ns, pause_max_ns, 1);
  }
  // Add() of a child that is the first of a row.
  void Begin(const icache::Inode& directory, const icache::Inode& child, uint64_t now_ns,
             uint64_t pause_max_ns) {
    Count(directory, child, now_ns, pause_max_ns, 0);
  }

 private:
  struct alignas(64) Line {
    std::array<std::atomic<uint64_t>, 8> slots{};
  };

  size_t Count(const icache::Inode& directory, const icache::Inode& child, uint64_t now_ns,
               uint64_t pause_max_ns, uint64_t more) {
    const uint64_t hash = HashOf(directory);
    const uint64_t tags = (hash & kDirectory) | (HashOf(child) & kChild);
    const uint64_t now = now_ns / kTickNs % kTicks;
    for (;;) {
      std::atomic<uint64_t>& slot = SlotFor(lines_[hash % kLines], tags, now);
      uint64_t known = slot.load(std::memory_order_relaxed);
      const bool in_a_row =
          ((known ^ tags) & kDirectory) == 0 && Pause(known, now) < pause_max_ns / kTickNs;
      const bool again = in_a_row && ((known ^ tags) & kChild) == 0;
      const uint64_t count =
          in_a_row ? std::min(known % kCounts + (again ? 0 : more), kCounts - 1) : 1;
      if (slot.compare_exchange_weak(known, tags | now * kCounts | count,
                                     std::memory_order_relaxed)) {
        return again ? 0 : count;
      }
    }
  }

  // The directory's, else that of the one which has waited longest.
  static std::atomic<uint64_t>& SlotFor(Line& line, uint64_t tags, uint64_t now) {
    size_t oldest = 0;
    uint64_t longest = 0;
    for (size_t i = 0; i < line.slots.size(); ++i) {
      const uint64_t known = line.slots[i].load(std::memory_order_relaxed);
      if (known != 0 && ((known ^ tags) & kDirectory) == 0) return line.slots[i];
      const uint64_t pause = known == 0 ? kTicks : Pause(known, now);
      if (pause > longest) {
        longest = pause;
        oldest = i;
      }
    }
    return line.slots[oldest];
  }
  static uint64_t Pause(uint64_t known, uint64_t now) { return (now - known / kCounts) % kTicks; }
  static uint64_t HashOf(const icache::Inode& inode) {
    return rcu::Mix64(reinterpret_cast<uintptr_t>(&inode));
  }

  // From the lowest bit: the count, the time of the last one, a part of its hash, and one of the
  // directory's.
  static constexpr uint64_t kCounts = 1 << 14;
  static constexpr uint64_t kTicks = 1 << 18;  // half an hour
  static constexpr uint64_t kChild = uint64_t{0xffff} << 32;
  static constexpr uint64_t kDirectory = uint64_t{0xffff} << 48;
  static constexpr uint64_t kTickNs = uint64_t{1} << 23;  // about 8 ms
  static constexpr size_t kLines = 512;

  std::array<Line, kLines> lines_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_EXPIRED_CHILDREN_H_
