#include "rcu/slab_pool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "rcu/allocation_fault.h"
#include "rcu/page_region.h"
#include "rcu/sync_point.h"
#include "rcu/thread_index.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address))
#endif

namespace nfswalk::rcu {

// Lies at the start of its 64 KiB, which are aligned to their size.
struct SlabPool::Slab {
  SlabPool* pool;
  std::atomic<Shard*> shard;
  Slab* previous;
  Slab* next;
  uint32_t free_count;
  uint32_t waiting_count = 0;  // retired objects whose grace period runs
  uint32_t retired_count = 0;  // those, and the ones after them that wait for the next
  DeferHead defer_head;        // in use while waiting_count > 0, or on the way to be unmapped

  // Indices of the free objects; the last of free_count is taken next.
  uint16_t* free_list() { return reinterpret_cast<uint16_t*>(this + 1); }
  // Indices of the retired objects, from the other end of the same array: together the two have at
  // most one for each object. The first waiting_count are those that wait.
  uint16_t& retired(uint32_t i) { return free_list()[pool->capacity_ - 1 - i]; }
  char* object(uint32_t index) {
    return reinterpret_cast<char*>(this) + pool->objects_offset_ +
           index * pool->layout_.object_bytes;
  }
};

namespace {

// Enough that the processors of this machine rarely meet.
size_t ShardsForThisMachine() {
  return std::clamp<size_t>(std::bit_ceil(std::max(1u, std::thread::hardware_concurrency())), 8,
                            64);
}

// So that running out of objects costs the same on a machine of any size.
constexpr size_t kVictimsMax = 7;

}  // namespace

SlabPool::SlabPool(const Layout& layout)
    : layout_(layout),
      shard_count_(ShardsForThisMachine()),
      shards_(std::make_unique<Shard[]>(shard_count_)) {
  assert(layout.object_bytes % layout.alignment == 0);
  assert(layout.object_bytes <= kMaxObjectBytes);
  const auto offset_for = [&layout](size_t capacity) {
    const size_t header = sizeof(Slab) + capacity * sizeof(uint16_t);
    return (header + layout.alignment - 1) / layout.alignment * layout.alignment;
  };
  size_t capacity = (kSlabBytes - sizeof(Slab)) / (layout.object_bytes + sizeof(uint16_t));
  while (offset_for(capacity) + capacity * layout.object_bytes > kSlabBytes) --capacity;
  capacity_ = static_cast<uint32_t>(capacity);
  objects_offset_ = offset_for(capacity);
}

SlabPool::~SlabPool() {
  if (live() != 0) Barrier();
  // The callback that freed the last object may be inside its lock still, about to retire the slab.
  for (Shard& shard : shards()) std::lock_guard leaves(shard.lock);
  // For slabs retired by callbacks, also by those that ran during the first wait.
  while (retiring_.load(std::memory_order_acquire) != 0) Barrier();  // pairs with UnmapWhollyFree()
  assert(live() == 0);
  for (Shard& shard : shards()) {
    while (shard.first != nullptr) {
      Slab* const slab = shard.first;
      Unlink(shard, *slab);
      UnmapSlab(slab);
    }
  }
}

auto SlabPool::SlabOf(void* object) -> Slab* {
  return reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(object) & ~(kSlabBytes - 1));
}

void SlabPool::PushFront(Shard& shard, Slab& slab) {
  slab.previous = nullptr;
  slab.next = shard.first;
  (shard.first != nullptr ? shard.first->previous : shard.last) = &slab;
  shard.first = &slab;
}

void SlabPool::PushBack(Shard& shard, Slab& slab) {
  slab.next = nullptr;
  slab.previous = shard.last;
  (shard.last != nullptr ? shard.last->next : shard.first) = &slab;
  shard.last = &slab;
}

void SlabPool::Unlink(Shard& shard, Slab& slab) {
  (slab.previous != nullptr ? slab.previous->next : shard.first) = slab.next;
  (slab.next != nullptr ? slab.next->previous : shard.last) = slab.previous;
}

void* SlabPool::Allocate() {
  if (AllocationFault::ShouldFail()) return nullptr;
  Shard& shard = shards_[ThreadIndex() & (shard_count_ - 1)];
  {
    std::lock_guard lock(shard.lock);
    if (shard.first != nullptr || StealSlab(shard)) return Take(shard);
  }
  Slab* const slab = MapSlab(shard);
  if (slab == nullptr) return nullptr;
  std::lock_guard lock(shard.lock);
  ++shard.slabs;
  ++shard.free_slabs;
  PushFront(shard, *slab);
  return Take(shard);
}

// Under the shard's lock.
void* SlabPool::Take(Shard& shard) {
  Slab& slab = *shard.first;
  if (slab.free_count == capacity_) --shard.free_slabs;
  void* const object = slab.object(slab.free_list()[--slab.free_count]);
  if (slab.free_count == 0) Unlink(shard, slab);
  shard.live.store(shard.live.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  ASAN_UNPOISON_MEMORY_REGION(object, layout_.object_bytes);
  return object;
}

// Under the thief's lock; only tries the others' (I3). The last free objects of a shard stay (I5).
bool SlabPool::StealSlab(Shard& thief) {
  for (size_t i = 0; i <= kVictimsMax; ++i) {
    Shard& shard = shards_[thief.next_victim++ & (shard_count_ - 1)];
    if (&shard == &thief) continue;
    std::unique_lock lock(shard.lock, std::try_to_lock);
    if (!lock.owns_lock() || shard.first == nullptr) continue;
    Slab& slab = *shard.last;
    if (shard.first == shard.last && slab.free_count != capacity_) continue;
    Unlink(shard, slab);
    if (slab.free_count == capacity_) {
      --shard.free_slabs;
      ++thief.free_slabs;
    }
    --shard.slabs;
    ++thief.slabs;
    slab.shard.store(&thief, std::memory_order_relaxed);
    PushFront(thief, slab);
    return true;
  }
  return false;
}

// Locks it.
auto SlabPool::LockShardOf(Slab& slab) -> Shard& {
  for (;;) {
    Shard& shard = *slab.shard.load(std::memory_order_relaxed);
    NFSWALK_SYNC_POINT("slab_pool:shard-chosen");
    shard.lock.lock();
    if (slab.shard.load(std::memory_order_relaxed) == &shard) return shard;
    shard.lock.unlock();
  }
}

uint16_t SlabPool::IndexOf(Slab& slab, void* object) {
  const auto offset = static_cast<size_t>(static_cast<char*>(object) - slab.object(0));
  assert(offset % slab.pool->layout_.object_bytes == 0);
  return static_cast<uint16_t>(offset / slab.pool->layout_.object_bytes);
}

// Under the shard's lock.
void SlabPool::PutBack(Shard& shard, Slab& slab, uint16_t index) {
  assert(slab.free_count + slab.retired_count < capacity_);
  slab.free_list()[slab.free_count++] = index;
  if (slab.free_count == 1) PushFront(shard, slab);
  shard.live.store(shard.live.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

// After PutBack(), under the same lock.
auto SlabPool::SettleIfWhollyFree(Shard& shard, Slab& slab) -> SurplusSlabs {
  SurplusSlabs surplus{};
  if (slab.free_count != capacity_) return surplus;
  Unlink(shard, slab);
  PushBack(shard, slab);
  ++shard.free_slabs;
  // This one may be too many, and another too, since fewer are in use now.
  for (Slab*& taken : surplus) {
    const size_t used = shard.slabs - shard.free_slabs;
    if (shard.free_slabs <= 1 + used / 2) break;
    taken = RetireLast(shard);
  }
  return surplus;
}

// Under the shard's lock. Preconditions: it has a wholly free slab.
auto SlabPool::RetireLast(Shard& shard) -> Slab* {
  Slab* const slab = shard.last;
  Unlink(shard, *slab);
  --shard.slabs;
  --shard.free_slabs;
  retiring_.fetch_add(1, std::memory_order_relaxed);
  return slab;
}

void SlabPool::UnmapLater(const SurplusSlabs& slabs) {
  for (Slab* slab : slabs) {
    if (slab != nullptr) Defer(&slab->defer_head, &UnmapWhollyFree);
  }
}

void SlabPool::Free(void* object) {
  Slab& slab = *SlabOf(object);
  SlabPool& pool = *slab.pool;
  Shard& shard = LockShardOf(slab);
  pool.PutBack(shard, slab, IndexOf(slab, object));
  const SurplusSlabs surplus = pool.SettleIfWhollyFree(shard, slab);
  shard.lock.unlock();
  UnmapLater(surplus);
}

void SlabPool::FreeUnreachable(void* object) {
  ASAN_POISON_MEMORY_REGION(object, SlabOf(object)->pool->layout_.object_bytes);
  Free(object);
}

void SlabPool::FreeDeferred(void* object) {
  Slab& slab = *SlabOf(object);
  Shard& shard = LockShardOf(slab);
  slab.retired(slab.retired_count++) = IndexOf(slab, object);
  const bool idle = slab.waiting_count == 0;
  if (idle) slab.waiting_count = slab.retired_count;
  shard.lock.unlock();
  if (idle) Defer(&slab.defer_head, &FreeRetired);
}

void SlabPool::FreeRetired(DeferHead* head) {
  Slab& slab = *SlabOf(head);
  SlabPool& pool = *slab.pool;
  Shard& shard = LockShardOf(slab);
  while (slab.waiting_count > 0) {
    // The last that waits leaves its place to the last of all, which does not.
    uint16_t& place = slab.retired(--slab.waiting_count);
    const uint16_t index = std::exchange(place, slab.retired(--slab.retired_count));
    ASAN_POISON_MEMORY_REGION(slab.object(index), pool.layout_.object_bytes);
    pool.PutBack(shard, slab, index);
  }
  NFSWALK_SYNC_POINT("slab_pool:retired-freed");
  slab.waiting_count = slab.retired_count;
  const bool again = slab.waiting_count > 0;
  const SurplusSlabs surplus = pool.SettleIfWhollyFree(shard, slab);
  shard.lock.unlock();
  if (again) Defer(&slab.defer_head, &FreeRetired);
  UnmapLater(surplus);
}

void SlabPool::Trim() {
  for (Shard& shard : shards()) {
    for (;;) {
      SurplusSlabs surplus{};
      {
        std::lock_guard lock(shard.lock);
        for (Slab*& taken : surplus) taken = shard.free_slabs > 0 ? RetireLast(shard) : nullptr;
      }
      if (surplus.front() == nullptr) break;
      UnmapLater(surplus);
    }
  }
}

void SlabPool::UnmapWhollyFree(DeferHead* head) {
  Slab* const slab = SlabOf(head);
  SlabPool& pool = *slab->pool;
  pool.UnmapSlab(slab);
  pool.retiring_.fetch_sub(1, std::memory_order_release);  // pairs with ~SlabPool()
}

auto SlabPool::MapSlab(Shard& shard) -> Slab* {
  void* const area = PageRegion::Map(kSlabBytes, kSlabBytes);
  if (area == nullptr) return nullptr;
  auto* const slab = ::new (area) Slab;
  slab->pool = this;
  slab->shard.store(&shard, std::memory_order_relaxed);
  slab->free_count = capacity_;
  for (uint32_t i = 0; i < capacity_; ++i) {
    ::new (&slab->free_list()[i]) uint16_t(static_cast<uint16_t>(capacity_ - 1 - i));
    layout_.construct(slab->object(i));
  }
  slabs_.fetch_add(1, std::memory_order_relaxed);
  return slab;
}

void SlabPool::UnmapSlab(Slab* slab) {
  ASAN_UNPOISON_MEMORY_REGION(slab, kSlabBytes);
  for (uint32_t i = 0; i < capacity_; ++i) layout_.destroy(slab->object(i));
  slabs_.fetch_sub(1, std::memory_order_relaxed);
  PageRegion::Unmap(slab);
}

size_t SlabPool::live() const {
  int64_t live = 0;
  for (const Shard& shard : shards()) live += shard.live.load(std::memory_order_relaxed);
  return live > 0 ? static_cast<size_t>(live) : 0;
}

}  // namespace nfswalk::rcu
