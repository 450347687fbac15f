// Allocation failures at each place where the inode cache allocates.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "nfsclient/icache/iget_family.h"
#include "rcu/allocation_fault.h"
#include "rcu/lock_order.h"
#include "tests/fixtures/allocation_shortage.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

using fixtures::AllocationShortage;
using fixtures::Extent;
using fixtures::MemoryKind;

class InodeAllocationTest : public testing::TestWithParam<InodePolicy> {
 protected:
  ~InodeAllocationTest() override {
    rcu::AllocationFault::Clear();
    rcu::MappingFault::Clear();
  }
  static InodeCacheOptions SmallTable() { return {.policy = GetParam(), .initial_buckets = 16}; }

  // Gets up to `count` inodes. Returns how many could be allocated.
  static uint64_t GetWhatMemoryAllows(InodeCaches& caches, uint64_t count) {
    uint64_t there = 0;
    for (uint64_t key = 1; key <= count; ++key) there += caches.Get(key) ? 1 : 0;
    return there;
  }
  static void ExpectConsistent(InodeCaches& caches, uint64_t there, uint64_t wanted) {
    EXPECT_EQ(caches.cache->size(), there);
    EXPECT_EQ(caches.cache->CountBusy(), 0u);
    uint64_t found = 0;
    for (uint64_t key = 1; key <= wanted; ++key) found += caches.Find(key) ? 1 : 0;
    EXPECT_EQ(found, there);
    EXPECT_EQ(GetWhatMemoryAllows(caches, wanted), wanted) << "allocations succeed again";
    EXPECT_EQ(caches.cache->size(), wanted);
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeAllocationTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

#ifndef NDEBUG
// INODE-23.
TEST_P(InodeAllocationTest, WithoutAnInodeNothingIsCreatedAndThePresentIsFound) {
  InodeCaches caches(GetParam());
  IgetFamily& cache = *caches.cache;
  const InodeRef present = caches.Get(1);
  KeyIdentity identity(2);
  const auto no_memory = [](const IgetResult& result) {
    return !result && result.error() == InodeError::kNoMemory;
  };
  rcu::AllocationFault::FailAfter(0);
  EXPECT_TRUE(no_memory(cache.Iget(2)));
  EXPECT_TRUE(no_memory(cache.Iget5(cache.HashOf(2), identity)));
  EXPECT_TRUE(no_memory(cache.Iget5Rcu(cache.HashOf(2), identity)));
  EXPECT_FALSE(cache.NewInode());
  rcu::AssertMaySleep();
  EXPECT_EQ(caches.Get(1).get(), present.get());
  EXPECT_EQ(cache.size(), 1u);
  rcu::AllocationFault::Clear();
  EXPECT_TRUE(caches.Get(2));
}

TEST_P(InodeAllocationTest, EveryInodeMayBeTheOneThereIsNoMemoryFor) {
  for (int64_t succeed = 0; succeed <= 3; ++succeed) {
    InodeCaches caches(GetParam());
    rcu::AllocationFault::FailAfter(succeed);
    const uint64_t there = GetWhatMemoryAllows(caches, 3);
    rcu::AllocationFault::Clear();
    EXPECT_EQ(there, static_cast<uint64_t>(succeed));
    ExpectConsistent(caches, there, 3);
  }
}

// Slabs of inodes and growing tables, in the order of their allocation.
TEST_P(InodeAllocationTest, EveryAreaMayBeTheOneThereIsNoMemoryFor) {
  constexpr uint64_t kInodes = 600;
  for (int64_t succeed = 0; succeed <= 8; ++succeed) {
    InodeCaches caches(SmallTable());
    rcu::MappingFault::FailAfter(succeed);
    const uint64_t there = GetWhatMemoryAllows(caches, kInodes);
    rcu::MappingFault::Clear();
    EXPECT_EQ(there == 0, succeed == 0);
    ExpectConsistent(caches, there, kInodes);
  }
}

TEST_P(InodeAllocationTest, ATableThatCannotGrowHasLongerChainsAndGrowsLater) {
  if (GetParam().hash == HashPolicy::kLfht) GTEST_SKIP() << "liburcu resizes the table itself";
  constexpr uint64_t kInodes = 1500;
  const auto chains = [](InodeCaches& caches) {
    size_t count = 0;
    caches.cache->ForEachChain([&](size_t) { ++count; });
    return count;
  };
  InodeCaches caches(SmallTable());
  // The pool keeps their memory.
  EXPECT_EQ(GetWhatMemoryAllows(caches, 100), 100u);
  const size_t before = chains(caches);
  rcu::MappingFault::FailAfter(0);
  const uint64_t there = GetWhatMemoryAllows(caches, kInodes);
  EXPECT_GE(there, 100u);
  EXPECT_LE(chains(caches), 2 * before) << "but for a growth that had begun";
  rcu::MappingFault::Clear();
  ExpectConsistent(caches, there, kInodes);
  EXPECT_GE(chains(caches), kInodes / 2);
}
#endif

TEST_P(InodeAllocationTest, ACacheIsMadeWholeOrNotAtAll) {
  CountingOperations operations(SmallTable());
  bool created = false;
  int64_t failures = 0;
  while (!created) {
    const AllocationShortage shortage(MemoryKind::kHeap, Extent::kOnce, failures);
    try {
      auto cache = IgetFamily::Create(SmallTable(), operations);
      created = true;
      EXPECT_TRUE(cache.has_value());
      EXPECT_FALSE(shortage.occurred());
    } catch (const std::bad_alloc&) {
      ++failures;
    }
  }
  EXPECT_GE(failures, 3);
}

// The index allocates if a chain is longer than its batches.
TEST_P(InodeAllocationTest, AnIterationWithoutMemoryEndsWithAnErrorAndNoReference) {
  InodeCaches caches(SmallTable());
  const uint64_t hash = caches.cache->HashOf(1);
  for (uint64_t key = 1; key <= 300; ++key) {
    KeyIdentity identity(key);
    caches.cache->UnlockNew(*caches.cache->Iget5Rcu(hash, identity)->inode);
  }
  const bool asks = GetParam().hash == HashPolicy::kIndex;
  uint64_t visited = 0;
  const InodeVisitor visit = [&visited](Inode&) {
    ++visited;
    return IterStep::kNext;
  };
  const UnsafeInodeVisitor visit_unsafe = {.visit = [&visited](Inode&) {
    ++visited;
    return IterStep::kNext;
  }};
  const auto without_memory = [](const auto& iterate) {
    const AllocationShortage shortage(MemoryKind::kHeap, Extent::kOnce, 0);
    return iterate();
  };
  const std::errc error = without_memory([&] { return caches.cache->IterInodes({}, visit); });
  const std::errc unsafe_error =
      without_memory([&] { return caches.cache->IterInodesUnsafe(visit_unsafe); });
  EXPECT_EQ(error, asks ? std::errc::not_enough_memory : std::errc{});
  EXPECT_EQ(unsafe_error, asks ? std::errc::not_enough_memory : std::errc{});
  EXPECT_EQ(visited, asks ? 0u : 600u) << "none twice, when it is tried again";
  EXPECT_EQ(caches.cache->CountBusy(), 0u);
}

TEST_P(InodeAllocationTest, EvictingAllNeedsNoMemory) {
  InodeCaches caches(SmallTable());
  GetWhatMemoryAllows(caches, 300);
  GetWhatMemoryAllows(caches, 200);  // reused
  {
    const AllocationShortage shortage(MemoryKind::kHeap, Extent::kFromThenOn, 0);
    EXPECT_EQ(caches.cache->EvictUnused(), 300u);
  }
  EXPECT_EQ(caches.cache->size(), 0u);
}

}  // namespace
}  // namespace nfswalk::icache
