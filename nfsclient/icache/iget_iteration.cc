// The iterators (INODE-16, INODE-17) and their users.
#include <boost/intrusive/list.hpp>
#include <cassert>
#include <functional>
#include <mutex>

#include "nfsclient/icache/iget_family.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"

namespace nfswalk::icache {

namespace {

// Inodes at which an iteration looks before it lets other threads have the list's lock.
constexpr size_t kBatch = 256;

}  // namespace

std::errc IgetFamily::IterInodes(const IterOptions& options, const InodeVisitor& visit) {
  rcu::AssertMaySleep();
  if (operations_.can_iterate()) return operations_.IterInodes(options, visit);
  // Keeps the cursor's place; put only when the cursor has moved on, and never under the lock.
  InodeRef previous;
  InodeList::Cursor cursor(list_);
  size_t skipped = 0;
  while (cursor.current() != nullptr) {
    if (!IterGrab(*cursor.current(), options)) {
      cursor.Advance();
      if (++skipped % kBatch == 0) cursor.LetGo([] {});
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

std::errc IgetFamily::IterInodesUnsafe(const UnsafeInodeVisitor& visitor) {
  if (operations_.can_iterate()) return operations_.IterInodesUnsafe(visitor);
  IterStep step = IterStep::kNext;
  for (InodeList::Cursor cursor(list_); cursor.current() != nullptr && step == IterStep::kNext;) {
    {
      rcu::ReadGuard memory_stays;
      for (size_t i = 0; i < kBatch && cursor.current() != nullptr; ++i) {
        step = visitor.visit(*cursor.current());
        if (step == IterStep::kStop) break;
        cursor.Advance();
      }
    }
    cursor.LetGo(visitor.pause);
  }
  return {};
}

size_t IgetFamily::EvictUnused() {
  rcu::AssertMaySleep();
  // Linked by the hook of the LRU, which they have left, as evict_inodes() has them: no memory.
  using Hook =
      boost::intrusive::member_hook<Inode, boost::intrusive::list_member_hook<>, &Inode::lru_hook>;
  boost::intrusive::list<Inode, Hook> victims;
  // Includes inodes that are still dirty once Unmount() has tried to write them back.
  const uint16_t spared = kDying | kNew | (active_.load(std::memory_order_relaxed) ? kDirty : 0);
  const auto take = [&](Inode& inode) {
    NFSWALK_SYNC_POINT("evict-unused:before-ilock");
    std::lock_guard lock(inode.lock);
    if (inode.count.load(std::memory_order_relaxed) == 0 && !inode.Is(spared)) {
      inode.Set(kFreeing);
      lru_.Remove(inode);
      victims.push_back(inode);
    }
    return IterStep::kNext;
  };
  size_t evicted = 0;
  // After each batch: lookups of a victim wait for its end.
  const auto evict = [&] {
    for (; !victims.empty(); ++evicted) {
      Inode& victim = victims.front();
      victims.pop_front();
      Evict(&victim);
    }
  };
  // By reference: copies would allocate.
  if (IterInodesUnsafe({.visit = std::ref(take), .pause = std::ref(evict)}) != std::errc{}) {
    // No memory for the index's batches: prune the LRU, in two passes because of the second chance.
    evicted += Prune(lru_.size());
    evicted += Prune(lru_.size());
  }
  return evicted;
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
  IterInodesUnsafe({[&](Inode& inode) {
    idle += inode.count.load(std::memory_order_relaxed) == 0 ? 1 : 0;
    return IterStep::kNext;
  }});
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
