// counters: statistics that cost the counting thread one plain add to its own cache line.
//
// Contract    Sum() counts every Add() that happens before it, each once; concurrent ones maybe.
// Data        a slot is written by the thread that owns its index; shared_ by threads that exit,
// and
//             by those for whose slots there is no memory. chunks_[k] is null until a thread with
//             an index in it adds, then constant.
// Invariants  I1 at most one live thread owns an index (thread_index). I2 a slot is never cleared.
// Protocol    locked: lock; sum += n; unlock.
//             here:   owner: relaxed load, relaxed store. Threads without a slot: fetch_add.
// Ordering    O1 NewChunk() release -> Slot loads acquire: a chunk that is found is zeroed.
//             Counters order nothing else. An index passes from thread to thread under a mutex.
// Progress    wait-free.
// Tests       tests/unit/rcu/counters_test.cc, tests/race/rcu_counters_race_test.cc
#ifndef NFSWALK_RCU_COUNTERS_H_
#define NFSWALK_RCU_COUNTERS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "rcu/allocation_fault.h"
#include "rcu/thread_index.h"

namespace nfswalk::rcu {

// Slots of the first threads, which every CounterSet has. More of them come with more threads.
inline constexpr uint32_t kFirstCounterSlots = 128;

// N counters that only grow (modulo 2^64). About 8 KiB for up to 8 counters and 128 threads. The
// memory is ordinary heap, which a frozen PageRegion does not include: walkers count.
template <size_t N>
class CounterSet {
 public:
  CounterSet() : first_(std::make_unique<Slot[]>(kFirstCounterSlots + 1)) {}
  ~CounterSet() {
    for (const std::atomic<Slot*>& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }
  CounterSet(const CounterSet&) = delete;
  CounterSet& operator=(const CounterSet&) = delete;

  // Returns what this thread's slot holds now: a number that says how busy the slot is, no sum.
  uint64_t Add(size_t i, uint64_t n = 1) {
    const uint32_t index = ThreadIndex();
    if (index < kFirstCounterSlots) [[likely]]
      return AddOwn(first_[index].values[i], n);
    Slot* const slot = index != kNoThreadIndex ? SlotBeyond(index) : nullptr;
    if (slot != nullptr) return AddOwn(slot->values[i], n);
    return Shared().values[i].fetch_add(n, std::memory_order_relaxed) + n;
  }

  uint64_t Sum(size_t i) const {
    // No thread had an index beyond this one yet, but for those without.
    const uint32_t end = ThreadIndicesEver();
    uint64_t sum = Shared().values[i].load(std::memory_order_relaxed);
    for (uint32_t slot = 0; slot < std::min(end, kFirstCounterSlots); ++slot) {
      sum += first_[slot].values[i].load(std::memory_order_relaxed);
    }
    for (uint32_t begin = kFirstCounterSlots; begin < end; begin *= 2) {
      const Slot* const chunk =
          ChunkOf(begin).load(std::memory_order_acquire);  // O1: pairs with NewChunk()
      if (chunk == nullptr) continue;
      for (uint32_t slot = 0; slot < std::min(end - begin, begin); ++slot) {
        sum += chunk[slot].values[i].load(std::memory_order_relaxed);
      }
    }
    return sum;
  }

 private:
  struct alignas(64) Slot {
    std::array<std::atomic<uint64_t>, N> values{};
  };

  static uint64_t AddOwn(std::atomic<uint64_t>& value, uint64_t n) {
    const uint64_t sum = value.load(std::memory_order_relaxed) + n;
    value.store(sum, std::memory_order_relaxed);
    return sum;
  }
  Slot& Shared() const { return first_[kFirstCounterSlots]; }

  // Chunk k has the slots of the indices from kFirstCounterSlots << k up to twice that.
  static constexpr size_t kChunks = std::countr_zero(kMaxThreadIndex / kFirstCounterSlots);
  const std::atomic<Slot*>& ChunkOf(uint32_t index) const {
    return chunks_[static_cast<size_t>(std::bit_width(index / kFirstCounterSlots)) - 1];
  }
  // nullptr without memory.
  [[gnu::noinline]] Slot* SlotBeyond(uint32_t index) {
    auto& chunk = const_cast<std::atomic<Slot*>&>(ChunkOf(index));
    Slot* slots = chunk.load(std::memory_order_acquire);  // O1: pairs with NewChunk()
    if (slots == nullptr) slots = NewChunk(chunk, std::bit_floor(index));
    return slots != nullptr ? &slots[index - std::bit_floor(index)] : nullptr;
  }
  static Slot* NewChunk(std::atomic<Slot*>& chunk, size_t slots) {
    if (MappingFault::ShouldFail()) return nullptr;
    std::unique_ptr<Slot[]> made(new (std::nothrow) Slot[slots]);
    Slot* winner = nullptr;
    // O1: release pairs with SlotBeyond() and Sum(), acquire with another thread's NewChunk().
    if (made != nullptr &&
        chunk.compare_exchange_strong(winner, made.get(), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      winner = made.release();
    }
    return winner;
  }

  const std::unique_ptr<Slot[]> first_;  // and, behind them, that of threads without one
  std::array<std::atomic<Slot*>, kChunks> chunks_{};
};

// One number that grows and shrinks.
class ShardedCounter {
 public:
  // Returns the sum of this thread's additions, which subtractions do not lower: a caller can act
  // once in so many additions.
  uint64_t Add(uint64_t n) { return counters_.Add(kAdded, n); }
  void Subtract(uint64_t n) { counters_.Add(kSubtracted, n); }
  // Exact if no change is concurrent; otherwise it may even be negative for a moment.
  int64_t Sum() const {
    return static_cast<int64_t>(counters_.Sum(kAdded) - counters_.Sum(kSubtracted));
  }

 private:
  enum : size_t { kAdded, kSubtracted, kCounters };
  CounterSet<kCounters> counters_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_COUNTERS_H_
