// asked_delegations: for which directories the server was asked for a delegation lately: a server
// refuses what it has recalled for a while, and what it has granted to another caller of this
// client already.
//
// A table of fixed size: where two directories have one place, one may be asked for again too
// early. Thread safety: any. Atomics are relaxed: they decide about RPCs, and order nothing.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_ASKED_DELEGATIONS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_ASKED_DELEGATIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::nfs {

class AskedDelegations {
 public:
  // Whether it is to be asked for now, not within `pause_s` of the last time. `now_ns`:
  // CLOCK_MONOTONIC.
  bool IsDue(const icache::Inode& directory, uint64_t now_ns, uint32_t pause_s) const {
    const uint64_t hash = HashOf(directory);
    return IsDue(places_[hash % places_.size()].load(std::memory_order_relaxed), hash, now_ns,
                 pause_s);
  }
  // IsDue(), and notes that it is asked for: of two callers at the same time one may.
  bool Begin(const icache::Inode& directory, uint64_t now_ns, uint32_t pause_s) {
    const uint64_t hash = HashOf(directory);
    std::atomic<uint64_t>& place = places_[hash % places_.size()];
    uint64_t known = place.load(std::memory_order_relaxed);
    if (!IsDue(known, hash, now_ns, pause_s)) return false;
    const uint64_t asked = (hash & kDirectory) | Seconds(now_ns);
    return place.compare_exchange_strong(known, asked, std::memory_order_relaxed);
  }

 private:
  // The lower bits of a place: the time. The others tell directories apart.
  static constexpr uint64_t kSeconds = uint64_t{1} << 16;
  static constexpr uint64_t kDirectory = ~(kSeconds - 1);

  static uint64_t HashOf(const icache::Inode& directory) {
    return rcu::Mix64(reinterpret_cast<uintptr_t>(&directory));
  }
  static uint64_t Seconds(uint64_t now_ns) { return now_ns / 1'000'000'000 % kSeconds; }
  static bool IsDue(uint64_t known, uint64_t hash, uint64_t now_ns, uint32_t pause_s) {
    const bool is_same = known != 0 && ((known ^ hash) & kDirectory) == 0;
    return !is_same || (Seconds(now_ns) - known) % kSeconds >= pause_s;
  }

  std::array<std::atomic<uint64_t>, 4096> places_{};
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_ASKED_DELEGATIONS_H_
