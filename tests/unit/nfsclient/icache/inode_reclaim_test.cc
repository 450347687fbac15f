// Eviction: reclaim, the limit, writeback, unmount (INODE-18, INODE-19).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

class InodeReclaimTest : public testing::TestWithParam<InodePolicy> {
 protected:
  void Fill(uint64_t first, uint64_t last) {
    for (uint64_t key = first; key <= last; ++key) caches_.Get(key);
  }
  void Dirty(uint64_t key) { cache_.MarkDirty(*caches_.Get(key)); }
  uint64_t evicted() const { return caches_.operations.evicted; }
  uint64_t written() const { return caches_.operations.written; }

  InodeCaches caches_{GetParam()};
  IgetFamily& cache_ = *caches_.cache;
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeReclaimTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

// INODE-19.
TEST_P(InodeReclaimTest, PruneEvictsTheOldestFirst) {
  Fill(1, 10);
  EXPECT_EQ(cache_.Prune(3), 3u);
  for (uint64_t key = 1; key <= 10; ++key) EXPECT_EQ(bool(caches_.Find(key)), key > 3) << key;
}

// INODE-19.
TEST_P(InodeReclaimTest, PruneGivesASecondChanceToWhatWasUsedAgain) {
  Fill(1, 10);
  Fill(1, 1);
  EXPECT_EQ(cache_.Prune(9), 9u);
  EXPECT_TRUE(caches_.Find(1));
  EXPECT_EQ(cache_.Prune(1), 0u) << "marked used by the lookup";
  EXPECT_EQ(cache_.Prune(1), 1u);
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_P(InodeReclaimTest, PruneLooksBeyondManyThatWereUsedAgain) {
  Fill(1, 200);
  Fill(1, 100);
  EXPECT_EQ(cache_.Prune(100), 100u);
  for (uint64_t key = 1; key <= 200; ++key) EXPECT_EQ(bool(caches_.Find(key)), key <= 100) << key;
}

TEST_P(InodeReclaimTest, PruneTakesBusyInodesOffTheLruAndTheirLastPutBringsThemBack) {
  Fill(1, 10);
  InodeRef busy = caches_.Get(1);
  EXPECT_EQ(cache_.Prune(100), 9u);
  EXPECT_EQ(cache_.unused(), 0u);
  EXPECT_EQ(cache_.size(), 1u);
  busy = {};
  EXPECT_EQ(cache_.unused(), 1u);
  EXPECT_EQ(cache_.Prune(100), 1u);
}

TEST_P(InodeReclaimTest, PruneLeavesDirtyInodesUntilTheyAreWrittenBack) {
  Dirty(1);
  Fill(2, 2);
  Dirty(2);  // on the LRU already
  EXPECT_EQ(cache_.Prune(100), 0u);
  EXPECT_EQ(cache_.size(), 2u);
  EXPECT_EQ(cache_.Sync(), std::errc{});
  EXPECT_EQ(cache_.Prune(100), 2u);
  EXPECT_EQ(written(), 2u);
}

TEST_P(InodeReclaimTest, EvictUnusedTakesAllButBusyNewAndDirtyInodes) {
  Fill(1, 1000);
  Fill(1, 500);  // no second chance here
  Dirty(3);
  InodeRef busy = caches_.Get(4);
  FoundInode fresh = caches_.GetNew(1001);
  EXPECT_EQ(cache_.EvictUnused(), 998u);
  EXPECT_EQ(cache_.size(), 3u);
  EXPECT_EQ(caches_.Find(4).get(), busy.get());
  EXPECT_TRUE(caches_.Find(3));
  cache_.UnlockNew(*fresh.inode);
}

TEST_P(InodeReclaimTest, SyncWritesEachDirtyInodeOnce) {
  Fill(1, 100);
  for (uint64_t key = 10; key <= 20; ++key) Dirty(key);
  std::vector<uint64_t> keys;
  caches_.operations.on_write = [&](Inode& inode) {
    EXPECT_GE(inode.count.load(), 1u) << "a reference while it is written";
    keys.push_back(inode.fileid);
  };
  EXPECT_EQ(cache_.Sync(), std::errc{});
  std::ranges::sort(keys);
  EXPECT_EQ(keys, (std::vector<uint64_t>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(cache_.Sync(), std::errc{});
  EXPECT_EQ(written(), 11u);
}

TEST_P(InodeReclaimTest, AFailedWriteIsReportedAfterAllWereTriedAndTriedAgain) {
  for (uint64_t key = 1; key <= 5; ++key) Dirty(key);
  caches_.operations.write_error = std::errc::io_error;
  EXPECT_EQ(cache_.Sync(), std::errc::io_error);
  EXPECT_EQ(written(), 5u);
  caches_.operations.write_error = {};
  EXPECT_EQ(cache_.Sync(), std::errc{});
  EXPECT_EQ(written(), 10u);
  EXPECT_EQ(cache_.EvictUnused(), 5u);
}

// One that was on the LRU, and one that was not.
TEST_P(InodeReclaimTest, AnInodeThatIsNotToBeCachedGoesWithItsLastReference) {
  Fill(1, 3);
  for (const uint64_t key : {2, 4}) {
    const uint64_t before = evicted();
    InodeRef one = caches_.Get(key), other = caches_.Get(key);
    MarkDontCache(*one);
    one = {};
    EXPECT_EQ(evicted(), before);
    other = {};
    EXPECT_EQ(evicted(), before + 1);
    EXPECT_EQ(written(), 0u);
    EXPECT_EQ(cache_.unused(), 2u);
    EXPECT_FALSE(caches_.Find(key));
  }
}

TEST_P(InodeReclaimTest, AnInodeThatIsNotToBeCachedIsWrittenBackBeforeItGoes) {
  caches_.operations.on_write = [&](Inode& inode) {
    EXPECT_EQ(evicted(), 0u);
    EXPECT_TRUE(inode.hashed()) << "lookups must wait for it";
  };
  InodeRef inode = caches_.Get(1);
  cache_.MarkDirty(*inode);
  MarkDontCache(*inode);
  inode = {};
  EXPECT_EQ(written(), 1u);
  EXPECT_EQ(evicted(), 1u);
}

TEST_P(InodeReclaimTest, AnUnlinkedInodeIsDroppedUnwritten) {
  InodeRef inode = caches_.Get(1);
  cache_.MarkDirty(*inode);
  inode->flags.store(kUnlinked);
  inode = {};
  EXPECT_EQ(evicted(), 1u);
  EXPECT_EQ(written(), 0u);
}

TEST_P(InodeReclaimTest, CountBusyCountsInodesNotReferencesAndThoseThatNoLookupFinds) {
  Fill(1, 10);
  EXPECT_EQ(cache_.CountBusy(), 0u);
  const InodeRef one = caches_.Get(1), again = caches_.Get(1), other = caches_.Get(2);
  EXPECT_EQ(cache_.CountBusy(), 2u);
  cache_.Unhash(*one);
  const InodeRef never_hashed = cache_.NewInode();
  EXPECT_EQ(cache_.CountBusy(), 3u);
  EXPECT_EQ(cache_.Unmount(), 3u);
}

// INODE-18.
TEST_P(InodeReclaimTest, UnmountWritesBackEvictsAllAndNamesTheBusyOnes) {
  Fill(1, 100);
  Dirty(7);
  InodeRef busy = caches_.Get(1);
  EXPECT_EQ(cache_.Unmount(), 1u);
  EXPECT_EQ(written(), 1u);
  EXPECT_EQ(cache_.size(), 1u);
  busy = {};
  EXPECT_EQ(evicted(), 100u) << "no inode is kept";
}

TEST_P(InodeReclaimTest, ADirtyInodeThatOutlivesUnmountIsWrittenBackByItsLastReference) {
  InodeRef busy = caches_.Get(1);
  EXPECT_EQ(cache_.Unmount(), 1u);
  cache_.MarkDirty(*busy);
  busy = {};
  EXPECT_EQ(written(), 1u);
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_P(InodeReclaimTest, UnmountEvictsWhatCannotBeWrittenBack) {
  Dirty(1);
  caches_.operations.write_error = std::errc::io_error;
  EXPECT_EQ(cache_.Unmount(), 0u);
  EXPECT_EQ(cache_.size(), 0u);
}

class InodeLimitTest : public testing::TestWithParam<InodePolicy> {
 protected:
  // The maximum number of inodes while `count` are used one after the other.
  static size_t MostInodes(InodeCaches& caches, uint64_t count) {
    size_t most = 0;
    for (uint64_t key = 1; key <= count; ++key) {
      caches.Get(key);
      most = std::max(most, caches.cache->size());
    }
    return most;
  }
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeLimitTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(InodeLimitTest, ASmallLimitIsExceededByTheOneInodeInUse) {
  for (const size_t limit : {size_t{1}, size_t{10}, size_t{1000}}) {
    InodeCaches caches({.policy = GetParam(), .inodes_max = limit});
    EXPECT_EQ(MostInodes(caches, 2000), limit) << limit;
    EXPECT_GE(caches.cache->size(), limit);
  }
}

TEST_P(InodeLimitTest, ALargeLimitIsLookedAtOnceIn32Insertions) {
  constexpr size_t kLimit = 16'384;
  InodeCaches caches({.policy = GetParam(), .inodes_max = kLimit});
  EXPECT_LE(MostInodes(caches, kLimit + 2000), kLimit + 31);
  EXPECT_GE(caches.cache->size(), kLimit - 64);
}

TEST_P(InodeLimitTest, InodesInUseMayExceedTheLimitAndGoBelowItAgain) {
  InodeCaches caches({.policy = GetParam(), .inodes_max = 10});
  std::vector<InodeRef> busy;
  for (uint64_t key = 1; key <= 100; ++key) busy.push_back(caches.Get(key));
  EXPECT_EQ(caches.cache->size(), 100u);
  busy.clear();
  for (uint64_t key = 101; key <= 105; ++key) caches.Get(key);
  EXPECT_LE(caches.cache->size(), 10u);
}

TEST_P(InodeLimitTest, InodesThatAreUsedOverAndOverStayAndTheLimitHolds) {
  InodeCaches caches({.policy = GetParam(), .inodes_max = 100});
  for (uint64_t key = 1; key <= 50; ++key) caches.Get(key);
  size_t most = 0;
  for (uint64_t key = 1000; key < 3000; ++key) {
    caches.Get(key);
    for (uint64_t hot = 1; hot <= 10; ++hot) caches.Get(hot);
    most = std::max(most, caches.cache->size());
  }
  EXPECT_LE(most, 110u);
  for (uint64_t hot = 1; hot <= 10; ++hot) EXPECT_TRUE(caches.Find(hot)) << hot;
}

}  // namespace
}  // namespace nfswalk::icache
