// slab_pool: objects of one size in 64 KiB slabs that never hold anything else.
//
// Contract    memory given out keeps what its last user left in it (type-stable). A reader may look
//             at an object freed during its read-side section. Memory of slabs that are wholly free
//             goes back to the system, except for those of I2 until Trim().
// Data        a slab's lists of free and of retired objects lie in its header, so such an object is
//             not written to. All but Slab::shard is under the lock of the slab's shard.
// Invariants  I1 a slab is in its shard's list if and only if it has a free object; the wholly free
//             ones are last. I2 a shard keeps at most one wholly free slab, and one for every two
//             that are in use: mapping and unmapping slabs with each grace period would dominate
//             the cost of an object. I3 a slab changes its shard only under both shards' locks. I4
//             a slab waits for one grace period at a time, with all objects that had been retired
//             when the wait began; those retired since share the next. I5 the only slab of a shard
//             with a free object is not taken by another shard while it is in use: threads that run
//             out of objects in turn would take it from each other each time.
// Protocol    free: s = slab.shard; lock(s); if (slab.shard != s) unlock and again.
// Ordering    the shard locks give all of it.
// Progress    retiring an object costs a shard lock, and one deferred callback a slab and grace
//             period: a queue of single objects would be a line that all processors write.
//             An allocation locks its own shard only, and tries some others before it maps a slab.
// Lifetime    a retired object is given out again after one or two grace periods. A slab is
//             unmapped a grace period after its last object was freed.
// Tests       tests/unit/rcu/object_pool_test.cc, tests/race/rcu_object_pool_race_test.cc,
//             tests/litmus/pools_litmus_test.cc
#ifndef NFSWALK_RCU_SLAB_POOL_H_
#define NFSWALK_RCU_SLAB_POOL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rcu/defer.h"
#include "rcu/spin_lock.h"

namespace nfswalk::rcu {

// ObjectPool and BytePool are the typed forms. Thread safety: all functions but the destructor.
class SlabPool {
 public:
  static constexpr size_t kSlabBytes = 64 * 1024;
  static constexpr size_t kMaxObjectBytes = kSlabBytes / 8;

  struct Layout {
    size_t object_bytes;              // a multiple of alignment, at most kMaxObjectBytes
    size_t alignment;                 // a power of two
    void (*construct)(void* object);  // runs when a slab is made
    void (*destroy)(void* object);    // runs before a slab is unmapped
  };

  // With a shard for each processor, 8 to 64 of them. Throws std::bad_alloc.
  explicit SlabPool(const Layout& layout);
  // Preconditions: every object was freed (asserted) or is on its way through FreeDeferred(), which
  // this waits for; not in a read-side section.
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // nullptr if there is no memory.
  void* Allocate();
  // At once: the object may be given out again while readers still look at it.
  static void Free(void* object);
  // Once no reader can hold it any more; from then on a sanitizer reports any access until it is
  // given out again. Does not allocate or fail. Barrier() waits for it.
  static void FreeDeferred(void* object);
  // At once, for an object no reader can hold any more: the end of a deferred callback that did
  // more than to free.
  static void FreeUnreachable(void* object);

  // Hands all wholly free slabs back to the system, after a grace period.
  void Trim();

  // Objects allocated and not freed; one on its way through FreeDeferred() counts.
  size_t live() const;
  // Bytes of all slabs, also those about to be unmapped.
  size_t capacity_bytes() const { return slabs_.load(std::memory_order_relaxed) * kSlabBytes; }

 private:
  struct Slab;

  struct alignas(64) Shard {
    SpinLock lock;
    Slab* first = nullptr;  // slabs with a free object; the wholly free ones are last
    Slab* last = nullptr;
    size_t slabs = 0;
    size_t free_slabs = 0;         // wholly free ones, last in the list
    std::atomic<int64_t> live{0};  // allocations less frees; written under lock
    size_t next_victim = 0;        // where StealSlab() continues
  };

  // At most two, the rest null: off every list, to be unmapped.
  using SurplusSlabs = std::array<Slab*, 2>;

  std::span<Shard> shards() const { return {shards_.get(), shard_count_}; }
  static Slab* SlabOf(void* object);
  static uint16_t IndexOf(Slab& slab, void* object);
  static Shard& LockShardOf(Slab& slab);
  static void PushFront(Shard& shard, Slab& slab);
  static void PushBack(Shard& shard, Slab& slab);
  static void Unlink(Shard& shard, Slab& slab);
  static void FreeRetired(DeferHead* head);
  static void UnmapWhollyFree(DeferHead* head);

  void* Take(Shard& shard);
  void PutBack(Shard& shard, Slab& slab, uint16_t index);
  SurplusSlabs SettleIfWhollyFree(Shard& shard, Slab& slab);
  Slab* RetireLast(Shard& shard);
  static void UnmapLater(const SurplusSlabs& slabs);
  bool StealSlab(Shard& thief);
  Slab* MapSlab(Shard& shard);
  void UnmapSlab(Slab* slab);

  const Layout layout_;
  uint32_t capacity_;      // objects a slab
  size_t objects_offset_;  // of the first object in a slab
  std::atomic<size_t> slabs_{0};
  std::atomic<size_t> retiring_{0};  // wholly free slabs waiting to be unmapped
  const size_t shard_count_;         // a power of two
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_SLAB_POOL_H_
