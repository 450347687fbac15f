#include "rcu/object_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/allocation_fault.h"
#include "rcu/page_region.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"

namespace nfswalk::rcu {
namespace {

std::atomic<int> constructed{0};
std::atomic<int> destroyed{0};

struct alignas(64) Object {
  Object() { ++constructed; }
  ~Object() { ++destroyed; }
  uint64_t mark = 0;
};

constexpr size_t kMany = 5000;  // several slabs

std::vector<Object*> AllocateMany(ObjectPool<Object>& pool) {
  std::vector<Object*> objects;
  while (objects.size() < kMany) objects.push_back(pool.Allocate());
  return objects;
}

TEST(ObjectPool, ObjectsAreDistinctAlignedAndCounted) {
  ObjectPool<Object> pool;
  std::set<Object*> objects;
  for (size_t i = 0; i < kMany; ++i) {
    Object* const object = pool.Allocate();
    ASSERT_NE(object, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(object) % 64, 0u);
    ASSERT_TRUE(objects.insert(object).second);
  }
  EXPECT_EQ(pool.live(), kMany);
  EXPECT_GE(pool.capacity_bytes(), kMany * sizeof(Object));
  for (Object* object : objects) pool.Free(object);
  EXPECT_EQ(pool.live(), 0u);
}

TEST(ObjectPool, AnObjectIsConstructedOnceAndKeepsWhatItsLastUserLeft) {
  ObjectPool<Object> pool;
  Object* const first = pool.Allocate();
  const int after_first = constructed.load();
  EXPECT_EQ(first->mark, 0u);
  first->mark = 42;
  pool.Free(first);
  Object* const second = pool.Allocate();
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->mark, 42u);
  EXPECT_EQ(constructed.load(), after_first);
  pool.Free(second);
}

TEST(ObjectPool, HandsWhollyFreeSlabsBackToTheSystem) {
  const size_t mapped_before = PageRegion::mapped_bytes();
  ObjectPool<Object> pool;
  const std::vector<Object*> objects = AllocateMany(pool);
  const size_t full = pool.capacity_bytes();
  for (Object* object : objects) pool.Free(object);
  Barrier();
  EXPECT_LE(pool.capacity_bytes(), SlabPool::kSlabBytes);
  EXPECT_EQ(PageRegion::mapped_bytes() - mapped_before, pool.capacity_bytes());
  EXPECT_GT(full, 4 * SlabPool::kSlabBytes);
}

TEST(ObjectPool, TrimHandsBackTheSlabsThatItKeptForNewObjects) {
  ObjectPool<Object> pool;
  std::vector<Object*> objects = AllocateMany(pool);
  const size_t full = pool.capacity_bytes();
  // The first half: of the slabs that are free then, some are kept.
  while (objects.size() > kMany / 2) {
    pool.Free(objects.back());
    objects.pop_back();
  }
  Barrier();
  const size_t kept = pool.capacity_bytes();
  pool.Trim();
  Barrier();
  const size_t used = objects.size() * sizeof(Object);
  EXPECT_GE(kept, full / 2 + SlabPool::kSlabBytes);
  EXPECT_LT(pool.capacity_bytes(), used + 2 * SlabPool::kSlabBytes);
  for (Object* object : objects) pool.Free(object);
}

TEST(ObjectPool, AReaderMayStillLookAtAnObjectWhoseSlabIsFree) {
  ObjectPool<Object> pool;
  const std::vector<Object*> objects = AllocateMany(pool);
  for (Object* object : objects) object->mark = 7;
  {
    ReadGuard reader;
    for (Object* object : objects) pool.Free(object);
    for (Object* object : objects) ASSERT_EQ(object->mark, 7u);
  }
  Barrier();
}

TEST(ObjectPool, AFreeDeferredObjectIsNotReusedBeforeAGracePeriod) {
  ObjectPool<Object> pool;
  Object* const object = pool.Allocate();
  {
    ReadGuard reader;
    pool.FreeDeferred(object);
    EXPECT_EQ(pool.live(), 1u);
    for (Object* other : AllocateMany(pool)) {
      ASSERT_NE(other, object);
      pool.Free(other);
    }
  }
  Barrier();
  EXPECT_EQ(pool.live(), 0u);
}

TEST(ObjectPool, DestroysWhatItConstructedAlsoObjectsOnTheirWay) {
  for (const auto free : {&ObjectPool<Object>::Free, &ObjectPool<Object>::FreeDeferred}) {
    const int constructed_before = constructed.load();
    const int destroyed_before = destroyed.load();
    {
      ObjectPool<Object> pool;
      for (Object* object : AllocateMany(pool)) (pool.*free)(object);
    }
    EXPECT_GE(constructed.load() - constructed_before, static_cast<int>(kMany));
    EXPECT_EQ(constructed.load() - constructed_before, destroyed.load() - destroyed_before);
  }
}

TEST(ObjectPool, AThreadUsesTheFreeObjectsThatAnotherLeft) {
  ObjectPool<Object> pool;
  std::vector<Object*> objects;
  std::thread([&] { objects = AllocateMany(pool); }).join();
  const size_t capacity = pool.capacity_bytes();
  for (size_t i = 0; i < kMany; i += 2) pool.Free(objects[i]);
  std::thread keep_index([&] {
    // Two live threads have two indices, hence two shards.
    std::thread([&] {
      for (size_t i = 0; i < kMany; i += 2) objects[i] = pool.Allocate();
    }).join();
  });
  keep_index.join();
  // But for the last slab, which is left to the next thread of its owner's index.
  EXPECT_LE(pool.capacity_bytes(), capacity + SlabPool::kSlabBytes);
  for (Object* object : objects) pool.Free(object);
}

uintptr_t SlabNumber(const Object* object) {
  return reinterpret_cast<uintptr_t>(object) / SlabPool::kSlabBytes;
}

TEST(ObjectPool, ThreadsAtWorkDoNotTakeEachOthersOnlySlab) {
  ObjectPool<Object> pool;
  Object* const mine = pool.Allocate();
  std::thread([&] {
    Object* const others = pool.Allocate();
    EXPECT_NE(SlabNumber(others), SlabNumber(mine));
    pool.Free(others);
  }).join();
  Object* const next = pool.Allocate();
  EXPECT_EQ(SlabNumber(next), SlabNumber(mine));
  pool.Free(next);
  pool.Free(mine);
}

#ifndef NDEBUG
TEST(ObjectPool, AFreeFollowsItsSlabToTheShardThatStoleIt) {
  ObjectPool<Object> pool;
  pool.Free(pool.Allocate());  // takes this thread's index
  std::latch chosen(1);
  std::latch stolen(1);
  std::atomic<bool> last_freed{false};
  std::thread freer([&] {
    // A full slab, one of whose objects is freed, and a slab in use after it.
    std::vector<Object*> objects = {pool.Allocate()};
    while (SlabNumber(objects.back()) == SlabNumber(objects.front())) {
      objects.push_back(pool.Allocate());
    }
    Object* const last = objects.back();
    objects.pop_back();
    pool.Free(objects.back());
    objects.pop_back();
    SyncPointScript::OnReach("slab_pool:shard-chosen", [&] {
      chosen.count_down();
      stolen.wait();
    });
    pool.Free(last);
    last_freed = true;
    for (Object* object : objects) pool.Free(object);
  });
  chosen.wait();
  SyncPointScript::ClearAll();
  Object* const mine = pool.Allocate();                      // steals the slab of the last one
  SyncPointScript::OnReach("slab_pool:retired-freed", [&] {  // under the lock of the new shard
    stolen.count_down();
    // Far more yields than a free takes.
    for (int turns = 0; turns < 2000 && !last_freed; ++turns) std::this_thread::yield();
    EXPECT_FALSE(last_freed);
  });
  pool.FreeDeferred(mine);
  freer.join();
  Barrier();
  SyncPointScript::ClearAll();
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_EQ(pool.capacity_bytes(), 2 * SlabPool::kSlabBytes);
  // In one list only: two threads are never given the same object.
  Object* const first = pool.Allocate();
  Object* second = nullptr;
  std::thread([&] { second = pool.Allocate(); }).join();
  EXPECT_NE(first, second);
  pool.Free(first);
  pool.Free(second);
}

TEST(ObjectPool, AnObjectRetiredAfterAGracePeriodWaitsForTheNext) {
  ObjectPool<Object> pool;
  Object* const first = pool.Allocate();
  Object* const second = pool.Allocate();
  ASSERT_EQ(SlabNumber(first), SlabNumber(second));
  std::latch over(1), retired(1), freed(1);
  bool waited = false;
  {
    ReadGuard holds_the_period;
    pool.FreeDeferred(first);
    SyncPointScript::OnReach("slab_pool:shard-chosen", [&] {
      if (std::exchange(waited, true)) return;
      over.count_down();
      retired.wait();
    });
    SyncPointScript::OnReach("slab_pool:retired-freed", [&] {
      if (!freed.try_wait()) freed.count_down();
    });
  }
  over.wait();
  {
    ReadGuard reader;  // delays the callback for `second`
    pool.FreeDeferred(second);
    retired.count_down();
    freed.wait();
    EXPECT_EQ(pool.live(), 1u);
  }
  Barrier();
  SyncPointScript::ClearAll();
  EXPECT_EQ(pool.live(), 0u);
  Object* const once = pool.Allocate();
  Object* const twice = pool.Allocate();
  EXPECT_NE(once, twice);
  pool.Free(once);
  pool.Free(twice);
}

TEST(ObjectPool, InjectedFaultsFailEveryAllocationAfterTheNth) {
  ObjectPool<Object> pool;
  AllocationFault::FailAfter(2);
  Object* const first = pool.Allocate();
  Object* const second = pool.Allocate();
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(pool.Allocate(), nullptr);
  EXPECT_EQ(pool.Allocate(), nullptr);
  AllocationFault::Clear();
  Object* const third = pool.Allocate();
  EXPECT_NE(third, nullptr);
  for (Object* object : {first, second, third}) pool.Free(object);
}

TEST(ObjectPoolDeathTest, DestructionWithALiveObjectAborts) {
  EXPECT_DEATH(
      {
        ObjectPool<Object> pool;
        pool.Allocate();
      },
      "live");
}
#endif

}  // namespace
}  // namespace nfswalk::rcu
