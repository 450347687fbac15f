// The iterators (INODE-16, INODE-17), over every policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

using Step = std::expected<IterStep, std::errc>;
using Keys = std::multiset<uint64_t>;

Keys KeysFromTo(uint64_t first, uint64_t last) {
  Keys keys;
  for (uint64_t key = first; key <= last; ++key) keys.insert(key);
  return keys;
}

class InodeIterationTest : public testing::TestWithParam<InodePolicy> {
 protected:
  InodeIterationTest() {
    // An iteration drops inodes without holding a lock.
    caches_.operations.on_evict = [](Inode&) { rcu::AssertMaySleep(); };
  }

  void Fill(uint64_t first, uint64_t last) {
    for (uint64_t key = first; key <= last; ++key) caches_.Get(key);
  }
  // From all processors, so that a sharded list has inodes in several shards.
  void FillFromThreads(uint64_t threads, uint64_t inodes_each) {
    std::latch all_live(static_cast<ptrdiff_t>(threads));
    std::vector<std::jthread> running;
    for (uint64_t thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread, first = 1 + thread * inodes_each] {
        BindToCpu(thread);
        caches_.Get(first);
        all_live.arrive_and_wait();
        Fill(first + 1, first + inodes_each - 1);
      });
    }
  }
  void Evict(uint64_t key) {
    if (InodeRef inode = caches_.Find(key)) cache_.Unhash(*inode);
  }
  // Visits all and calls `also` for each.
  template <class Also>
  Keys Visit(const IterOptions& options, Also&& also) {
    Keys seen;
    EXPECT_EQ(cache_.IterInodes(options,
                                [&](Inode& inode) -> Step {
                                  seen.insert(inode.fileid);
                                  also(inode);
                                  return IterStep::kNext;
                                }),
              std::errc{});
    return seen;
  }
  Keys Visit(const IterOptions& options = {}) {
    return Visit(options, [](Inode&) {});
  }
  Keys VisitUnsafe() {
    Keys seen;
    EXPECT_EQ(cache_.IterInodesUnsafe({.visit =
                                           [&](Inode& inode) {
                                             EXPECT_FALSE(inode.Is(kCursor));
                                             seen.insert(inode.fileid);
                                             return IterStep::kNext;
                                           }}),
              std::errc{});
    return seen;
  }
  // Counts the callbacks of an iteration whose `last`th one returns `result`.
  uint64_t VisitUntil(uint64_t last, const Step& result, std::errc expected) {
    uint64_t visited = 0;
    EXPECT_EQ(cache_.IterInodes(
                  {}, [&](Inode&) -> Step { return ++visited < last ? IterStep::kNext : result; }),
              expected);
    return visited;
  }
  static void ExpectUnlocked(Inode& inode) {
    ASSERT_TRUE(inode.lock.try_lock());
    inode.lock.unlock();
  }
  bool has_list() const { return GetParam().hash != HashPolicy::kIndex; }

  InodeCaches caches_{InodeCacheOptions{.policy = GetParam(), .initial_buckets = 4}};
  IgetFamily& cache_ = *caches_.cache;
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeIterationTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(InodeIterationTest, AnEmptyCacheHasNothingToVisit) {
  EXPECT_TRUE(Visit().empty());
  EXPECT_TRUE(VisitUnsafe().empty());
}

TEST_P(InodeIterationTest, TheCallbackHasAReferenceAndNoLock) {
  Fill(1, 100);
  const InodeRef held = caches_.Get(50);
  Visit({}, [&](Inode& inode) {
    rcu::AssertMaySleep();
    EXPECT_EQ(inode.count.load(), inode.fileid == 50 ? 2u : 1u);
    ExpectUnlocked(inode);
  });
  EXPECT_EQ(held->count.load(), 1u);
  EXPECT_EQ(cache_.CountBusy(), 1u);
}

// INODE-16.
TEST_P(InodeIterationTest, ThePreviousInodeIsPutOnceTheCursorHasMovedOn) {
  Fill(1, 100);
  uint64_t visited = 0;
  Visit({}, [&](Inode& inode) {
    EXPECT_FALSE(inode.Is(kDying));
    if (has_list()) {  // an index visits batches
      EXPECT_EQ(caches_.operations.evicted, visited);
    }
    ++visited;
    MarkDontCache(inode);
  });
  EXPECT_EQ(visited, 100u);
  EXPECT_EQ(caches_.operations.evicted, 100u);
}

TEST_P(InodeIterationTest, ReferencedOnlySkipsUnreferencedInodes) {
  Fill(1, 100);
  const InodeRef one = caches_.Get(3), other = caches_.Get(77);
  EXPECT_EQ(Visit({.referenced_only = true, .filter = {}}), (Keys{3, 77}));
}

TEST_P(InodeIterationTest, NewAndDyingInodesArePassedOver) {
  Fill(1, 10);
  FoundInode fresh = caches_.GetNew(11);
  Keys while_dying;
  caches_.operations.on_write = [&](Inode&) { while_dying = Visit(); };
  {
    InodeRef inode = caches_.Get(5);
    cache_.MarkDirty(*inode);
    MarkDontCache(*inode);
  }
  Keys expected = KeysFromTo(1, 10);
  expected.erase(5);
  EXPECT_EQ(while_dying, expected);
  EXPECT_EQ(Visit(), expected);
  cache_.UnlockNew(*fresh.inode);
  expected.insert(11);
  EXPECT_EQ(Visit(), expected);
}

TEST_P(InodeIterationTest, ADyingInodeIsListedNoMoreWhenTheFileSystemsPartDies) {
  Fill(1, 3);
  Keys listed;
  caches_.operations.on_evict = [&](Inode&) { listed = VisitUnsafe(); };
  Evict(2);
  caches_.operations.on_evict = {};
  EXPECT_EQ(listed, (Keys{1, 3}));
}

TEST_P(InodeIterationTest, EndingAtAnyInodeVisitsNoOtherAndLeavesNoLockOrReference) {
  FillFromThreads(3, 20);
  for (uint64_t last : {1, 2, 7, 20, 21, 59, 60}) {
    EXPECT_EQ(VisitUntil(last, IterStep::kStop, std::errc{}), last);
    EXPECT_EQ(VisitUntil(last, std::unexpected(std::errc::io_error), std::errc::io_error), last);
    uint64_t visited = 0;
    cache_.IterInodesUnsafe(
        {.visit = [&](Inode&) { return ++visited < last ? IterStep::kNext : IterStep::kStop; }});
    EXPECT_EQ(visited, last);
    EXPECT_EQ(cache_.CountBusy(), 0u);
    rcu::AssertMaySleep();
  }
  EXPECT_EQ(Visit(), KeysFromTo(1, 60));
}

// INODE-17.
TEST_P(InodeIterationTest, TheUnsafeFormTakesNoReferenceAndShowsEveryState) {
  Fill(1, 100);
  const FoundInode fresh = caches_.GetNew(101);
  std::map<uint64_t, uint32_t> counts;
  cache_.IterInodesUnsafe({.visit = [&](Inode& inode) {
    EXPECT_TRUE(rcu::InReadSection());
    counts[inode.fileid] = inode.count.load();
    EXPECT_EQ(inode.Is(kNew), inode.fileid == 101);
    ExpectUnlocked(inode);
    return IterStep::kNext;
  }});
  rcu::AssertMaySleep();
  EXPECT_EQ(counts.size(), 101u);
  for (const auto& [key, count] : counts) EXPECT_EQ(count, key == 101 ? 1u : 0u) << key;
  cache_.UnlockNew(*fresh.inode);
}

// INODE-17.
TEST_P(InodeIterationTest, TheUnsafeFormPausesAfterEachBatchAndOthersChangeTheCacheMeanwhile) {
  FillFromThreads(2, 1000);
  const InodeRef lasting = caches_.Get(500);
  Keys seen;
  uint64_t batch = 0, pauses = 0, fresh = 2001;
  const auto pause = [&] {
    rcu::AssertMaySleep();
    EXPECT_LE(batch, 256u);
    batch = 0;
    if (pauses++ >= 8) return;
    // The neighbours of the place among them, of either side.
    for (uint64_t key = 1; key <= 2000; ++key) {
      if ((key + pauses) % 7 == 0 && key != 500) Evict(key);
    }
    caches_.Get(fresh++);
    EXPECT_EQ(VisitUnsafe().count(500), 1u) << "iterations overlap";
  };
  const auto visit = [&](Inode& inode) {
    ++batch;
    EXPECT_FALSE(inode.Is(kDying | kCursor));
    seen.insert(inode.fileid);
    return IterStep::kNext;
  };
  EXPECT_EQ(cache_.IterInodesUnsafe({.visit = visit, .pause = pause}), std::errc{});
  EXPECT_GE(pauses, 4u);
  EXPECT_EQ(batch, 0u) << "no pause after the last one";
  EXPECT_EQ(seen.count(500), 1u);
  for (const uint64_t key : seen) ASSERT_EQ(seen.count(key), 1u) << key;
}

// INODE-16. Without SB_ACTIVE a reference on an unused inode would end in its eviction.
TEST_P(InodeIterationTest, OnceTheSuperblockGoesDownTheSafeFormVisitsOnlyReferencedInodes) {
  Fill(1, 1000);
  const InodeRef held = caches_.Get(7);
  bool first = true;
  Keys visited;
  caches_.operations.on_evict = [&](Inode&) {
    if (std::exchange(first, false)) visited = Visit();
  };
  EXPECT_EQ(cache_.Unmount(), 1u);
  EXPECT_FALSE(first);
  EXPECT_EQ(visited, Keys{7});
}

TEST_P(InodeIterationTest, OthersChangeTheCacheWhileACallbackBlocks) {
  Fill(1, 100);
  bool first = true;
  const Keys seen = Visit({}, [&](Inode&) {
    if (!std::exchange(first, false)) return;
    std::jthread([&] {
      for (uint64_t key = 101; key <= 300; ++key) caches_.Get(key);
      for (uint64_t key = 101; key <= 300; ++key) Evict(key);
    }).join();
  });
  EXPECT_TRUE(std::ranges::includes(seen, KeysFromTo(1, 100)));
}

TEST_P(InodeIterationTest, TheCallersFilterDecidesUnderTheInodesLock) {
  FillFromThreads(2, 50);
  const InodeRef held = caches_.Get(20), odd = caches_.Get(21);
  const auto even = [](const Inode& inode) {
    inode.lock.AssertHeld();
    return inode.fileid % 2 == 0;
  };
  Keys evens;
  for (uint64_t key = 2; key <= 100; key += 2) evens.insert(key);
  EXPECT_EQ(Visit({.filter = even}), evens);
  EXPECT_EQ(Visit({.referenced_only = true, .filter = even}), (Keys{20}));
  EXPECT_EQ(Visit({.filter = [](const Inode&) { return false; }}), Keys{});
}

TEST_P(InodeIterationTest, ManyInodesAreEachVisitedOnceAndCanBeEvictedAfterwards) {
  FillFromThreads(3, 1000);
  EXPECT_EQ(Visit(), KeysFromTo(1, 3000));
  EXPECT_EQ(VisitUnsafe(), KeysFromTo(1, 3000));
  rcu::AssertMaySleep();
  std::jthread([&] {
    for (uint64_t key = 1; key <= 3000; ++key) Evict(key);
  }).join();
  EXPECT_EQ(cache_.size(), 0u);
}

// Longer than a batch, and in one bucket whatever the table's size.
TEST_P(InodeIterationTest, AChainOfManyIsVisitedWholeAndOnce) {
  const uint64_t hash = cache_.HashOf(1);
  for (uint64_t key = 1; key <= 1000; ++key) {
    KeyIdentity identity(key);
    cache_.UnlockNew(*cache_.Iget5Rcu(hash, identity)->inode);
  }
  EXPECT_EQ(Visit(), KeysFromTo(1, 1000));
  EXPECT_EQ(VisitUnsafe(), KeysFromTo(1, 1000));
  EXPECT_EQ(VisitUntil(500, IterStep::kStop, std::errc{}), 500u);
  EXPECT_EQ(cache_.CountBusy(), 0u);
}

TEST_P(InodeIterationTest, TheCursorSurvivesTheEndOfItsNeighbours) {
  Fill(1, 99);
  // Each callback evicts both neighbours: by list order, newest first, and by key.
  std::set<uint64_t> ended;
  const Keys seen = Visit({}, [&](Inode& inode) {
    if (inode.fileid % 3 != 0) return;
    for (const uint64_t key : {inode.fileid - 1, inode.fileid + 1}) {
      Evict(key);
      ended.insert(key);
    }
  });
  for (uint64_t key = 3; key <= 99; key += 3) EXPECT_EQ(seen.count(key), 1u);
  for (const uint64_t key : ended) EXPECT_LE(seen.count(key), 1u);
}

TEST_P(InodeIterationTest, TheCursorSurvivesInsertionAndTheGrowthOfTheTable) {
  Fill(1, 100);
  uint64_t next = 101;
  const Keys seen = Visit({}, [&](Inode& inode) {
    if (inode.fileid > 100) return;
    for (int i = 0; i < 20; ++i) caches_.Get(next++);
  });
  for (uint64_t key = 1; key < next; ++key) {
    if (key <= 100)
      EXPECT_EQ(seen.count(key), 1u) << key;
    else
      EXPECT_LE(seen.count(key), 1u) << key;
  }
}

// INODE-16.
TEST_P(InodeIterationTest, LivingInodesAreVisitedOnceBesideInsertionsAndRemovals) {
  constexpr uint64_t kLasting = 300;
  Fill(1, kLasting);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> churned{0};
  std::jthread churn([&] {
    for (uint64_t key = kLasting + 1; !done; ++key) {
      caches_.Get(key);
      if (key > kLasting + 50) Evict(key - 50);
      ++churned;
    }
  });
  for (int round = 0; round < 10; ++round) {
    const uint64_t before = churned;
    const Keys seen = Visit({}, [&](Inode& inode) {
      // For the first few, waits for a change between two visits.
      while (inode.fileid % 30 == 0 && churned == before) std::this_thread::yield();
    });
    for (uint64_t key = 1; key <= kLasting; ++key) ASSERT_EQ(seen.count(key), 1u) << key;
    for (const uint64_t key : seen) ASSERT_EQ(seen.count(key), 1u) << key;
  }
  done = true;
}

}  // namespace
}  // namespace nfswalk::icache
