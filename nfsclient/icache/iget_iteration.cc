// The iterators (INODE-16, INODE-17) and their users.
#include <array>
#include <cassert>
#include <functional>
#include <mutex>

#include "nfsclient/icache/iget_family.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"

namespace nfswalk::icache {

std::errc IgetFamily::IterInodes(const IterOptions& options, const InodeVisitor& visit) {
  rcu::AssertMaySleep();
  if (operations_.can_iterate()) return operations_.IterInodes(options, visit);
  // Keeps the cursor's place; put only when the cursor has moved on, and never under the lock.
  InodeRef previous;
  InodeList::Cursor cursor(list_);
  while (cursor.current() != nullptr) {
    if (!IterGrab(*cursor.current(), options)) {
      cursor.Advance();
      continue;
    }
    InodeRef inode(cursor.current());
    cursor.Unlock();
    NFSWALK_SYNC_POINT("iter:after-unlock");
    previous = {};
    const auto step = visit(*inode);
    if (!step) return step.error();
    if (*step == IterStep::kStop) return {};
    previous = std::move(inode);
    cursor.Relock();
    cursor.Advance();
  }
  return {};
}

std::errc IgetFamily::IterInodesUnsafe(const UnsafeInodeVisitor& visit) {
  if (operations_.can_iterate()) return operations_.IterInodesUnsafe(visit);
  rcu::ReadGuard memory_stays;
  for (InodeList::Cursor cursor(list_); cursor.current() != nullptr; cursor.Advance()) {
    if (visit(*cursor.current()) == IterStep::kStop) break;
  }
  return {};
}

size_t IgetFamily::EvictUnused() {
  rcu::AssertMaySleep();
  constexpr size_t kBatch = 256;
  std::array<Inode*, kBatch> victims;
  // Includes inodes that are still dirty once Unmount() has tried to write them back.
  const uint16_t spared = kDying | kNew | (active_.load(std::memory_order_relaxed) ? kDirty : 0);
  size_t evicted = 0;
  for (;;) {
    size_t found = 0;
    const auto take = [&](Inode& inode) {
      NFSWALK_SYNC_POINT("evict-unused:before-ilock");
      std::lock_guard lock(inode.lock);
      if (inode.count.load(std::memory_order_relaxed) > 0 || inode.Is(spared)) {
        return IterStep::kNext;
      }
      inode.Set(kFreeing);
      lru_.Remove(inode);
      victims[found++] = &inode;
      return found < kBatch ? IterStep::kNext : IterStep::kStop;
    };
    // By reference: a copy would allocate.
    const std::errc error = IterInodesUnsafe(std::ref(take));
    for (size_t i = 0; i < found; ++i) Evict(victims[i]);
    evicted += found;
    if (found == 0 && error == std::errc{}) return evicted;
    if (error != std::errc{}) {
      // No memory for the index's batches: prune the LRU, in two passes because of the second
      // chance.
      evicted += Prune(lru_.size());
      return evicted + Prune(lru_.size());
    }
  }
}

std::errc IgetFamily::SyncInode(Inode& inode) {
  {
    std::lock_guard lock(inode.lock);
    if (!inode.Is(kDirty)) return {};
    inode.Reset(kDirty);
  }
  const std::errc error = operations_.WriteInode(inode);
  if (error != std::errc{}) MarkDirty(inode);
  return error;
}

std::errc IgetFamily::Sync() {
  std::errc first{};
  const std::errc error =
      IterInodes({.filter = [](const Inode& inode) { return inode.Is(kDirty); }},
                 [&](Inode& inode) -> std::expected<IterStep, std::errc> {
                   const std::errc written = SyncInode(inode);
                   if (first == std::errc{}) first = written;
                   return IterStep::kNext;
                 });
  return first != std::errc{} ? first : error;
}

size_t IgetFamily::CountBusy() {
  // All inodes less the unused ones: an index does not hold unhashed inodes (INODE-18).
  size_t idle = 0;
  IterInodesUnsafe([&](Inode& inode) {
    idle += inode.count.load(std::memory_order_relaxed) == 0 ? 1 : 0;
    return IterStep::kNext;
  });
  const size_t all = size();
  return all > idle ? all - idle : 0;
}

size_t IgetFamily::Unmount() {
  Sync();
  active_.store(false, std::memory_order_relaxed);
  EvictUnused();
  rcu::Barrier();
  return CountBusy();
}

}  // namespace nfswalk::icache
