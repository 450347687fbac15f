// Threads that allocate, free each other's objects and read freed ones.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "rcu/defer.h"
#include "rcu/object_pool.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"

namespace nfswalk::rcu {
namespace {

struct alignas(64) Object {
  std::atomic<bool> taken{false};
  std::atomic<uint64_t> value{0};
};

void TakeOwnership(Object* object) { ASSERT_FALSE(object->taken.exchange(true)); }

TEST(ObjectPoolRace, NoObjectHasTwoOwnersWhenThreadsFreeEachOthers) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 30'000;
  constexpr size_t kSlots = 4096;
  ObjectPool<Object> pool;
  auto slots = std::make_unique<std::array<std::atomic<Object*>, kSlots>>();
  std::atomic<uint64_t> crossings{0};
  const auto exchange = [&](unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < kRounds; ++i) {
      Object* const object = pool.Allocate();
      ASSERT_NE(object, nullptr);
      TakeOwnership(object);
      Object* const other = (*slots)[random() % kSlots].exchange(object);
      if (other == nullptr) continue;
      other->taken.store(false);
      crossings.fetch_add(1, std::memory_order_relaxed);
      if (random() % 2 == 0) {
        pool.Free(other);
      } else {
        pool.FreeDeferred(other);
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(exchange, i + 1);
  }
  Barrier();
  size_t left = 0;
  for (auto& slot : *slots) {
    Object* const object = slot.load();
    if (object == nullptr) continue;
    ++left;
    object->taken.store(false);
    pool.Free(object);
  }
  EXPECT_EQ(left + crossings.load(), size_t{kThreads} * kRounds);
  EXPECT_EQ(pool.live(), 0u);
  Barrier();
  EXPECT_LE(pool.capacity_bytes(), 8 * SlabPool::kSlabBytes);
}

// An object found through a pointer stays readable and unchanged for the whole section, although
// the writer retires it at once and the pool reuses and unmaps memory.
TEST(ObjectPoolRace, AReaderKeepsWhatItFoundUntilItsSectionEnds) {
  constexpr uint64_t kRounds = 30'000;
  ObjectPool<Object> pool;
  std::atomic<Object*> current{pool.Allocate()};
  current.load()->value.store(1);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> reads_of_retired{0};
  std::jthread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      ReadGuard guard;
      Object* const object = current.load(std::memory_order_acquire);  // pairs with the writer
      const uint64_t value = object->value.load(std::memory_order_relaxed);
      ASSERT_NE(value, 0u);
      for (int turns = 0; turns < 4; ++turns) std::this_thread::yield();
      ASSERT_EQ(object->value.load(std::memory_order_relaxed), value);
      reads.fetch_add(1, std::memory_order_relaxed);
      if (current.load(std::memory_order_relaxed) != object) {
        reads_of_retired.fetch_add(1, std::memory_order_relaxed);
      }
    }
  });
  const auto has_read_enough = [&] {
    return reads.load(std::memory_order_relaxed) >= 1000 &&
           reads_of_retired.load(std::memory_order_relaxed) >= 100;
  };
  for (uint64_t i = 2; i < 200 * kRounds; ++i) {
    if (i >= kRounds && has_read_enough()) break;
    Object* const next = pool.Allocate();
    next->value.store(i, std::memory_order_relaxed);
    Object* const old = current.exchange(next, std::memory_order_acq_rel);  // pairs with the reader
    pool.FreeDeferred(old);
    if (i % 8192 == 0) Barrier();
    if (i % 64 == 0) std::this_thread::yield();
  }
  stop.store(true);
  reader.join();
  pool.Free(current.load());
  EXPECT_GE(reads.load(), 1000u);
  EXPECT_GE(reads_of_retired.load(), 100u);
}

#ifndef NDEBUG
// The callback that frees the last object still uses the slab and its lists after the object is no
// longer counted.
TEST(ObjectPoolRace, APoolIsNotDestroyedUnderTheCallbackThatFreesItsLastObject) {
  auto pool = std::make_unique<ObjectPool<Object>>();
  std::atomic<bool> freed{false}, destroying{false}, destroyed{false};
  bool outlived = false;
  SyncPointScript::OnReach("slab_pool:retired-freed", [&] {
    freed = true;
    freed.notify_all();
    destroying.wait(false);
    // The pool's destructor takes this long only if it waits for the callback.
    for (int turns = 0; turns < 10'000 && !destroyed; ++turns) std::this_thread::yield();
    outlived = destroyed;
  });
  pool->FreeDeferred(pool->Allocate());
  freed.wait(false);
  destroying = true;
  destroying.notify_all();
  pool.reset();
  destroyed = true;
  Barrier();
  SyncPointScript::ClearAll();
  EXPECT_FALSE(outlived);
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
