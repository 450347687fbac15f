// The last reference, reclaim and unmount against concurrent lookups.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "tests/race/inode_race.h"

#ifndef NDEBUG
namespace nfswalk::icache {
namespace {

TEST_P(InodeRace, AnInodeFoundBeforeItsLastReferenceIsDroppedStays) {
  InodeRef dropped = GetDoomed(7), found;
  OnceAt("iput:before-final", [&] { Elsewhere([&] { found = LookupRcu(7); }); });
  dropped = {};
  EXPECT_EQ(found->count, 1u);
  EXPECT_FALSE(found->Is(kDying));
  EXPECT_EQ(cache_.unused(), 0u);
}

// INODE-10.
TEST_P(InodeRace, TheHolderOfTheInodeLockDecidesItsEviction) {
  InodeRef dropped = GetDoomed(7), found;
  StopAt last("iput:before-final");
  Actor dropper([&] { dropped = {}; });
  EXPECT_TRUE(last.Reached(dropper));
  OnceAt("find:after-ilock", [&] { last.LetGo(); });
  found = LookupRcu(7);
  dropper.Join();
  EXPECT_EQ(found->count, 1u);
  EXPECT_FALSE(found->Is(kDying));
}

// INODE-3.
TEST_P(InodeRace, ReclaimSkipsAnInodeThatIsBeingFound) {
  caches_.Get(7);
  size_t pruned = 1;
  OnceAt("find:after-ilock", [&] { Elsewhere([&] { pruned = cache_.Prune(1); }); });
  InodeRef found = LookupRcu(7);
  EXPECT_EQ(pruned, 0u);
  EXPECT_EQ(found->count, 1u);
  EXPECT_FALSE(found->Is(kDying));
}

TEST_P(InodeRace, AnInodeTakenByReclaimIsNotFound) {
  caches_.Get(7);
  StopAt taken("lru:after-trylock");
  Actor pruner([&] { EXPECT_EQ(cache_.Prune(1), 1u); });
  EXPECT_TRUE(taken.Reached(pruner));
  CountAt matched("find:after-match");
  Actor finder([&] { EXPECT_FALSE(LookupRcu(7)); });
  matched.Await(1);
  taken.LetGo();
}

TEST_P(InodeRace, AnInodeFoundWhileAllUnusedAreEvictedStays) {
  caches_.Get(7);
  InodeRef found;
  OnceAt("evict-unused:before-ilock", [&] { Elsewhere([&] { found = LookupRcu(7); }); });
  EXPECT_EQ(cache_.EvictUnused(), 0u);
  EXPECT_EQ(found->count, 1u);
  EXPECT_FALSE(found->Is(kDying));
}

// INODE-16, INODE-17.
TEST_P(InodeRaceOfLists, AnIterationThatTakesNoReferenceLetsOthersHaveTheLockEvery256Inodes) {
  for (uint64_t key = 1; key <= 1000; ++key) caches_.Get(key);
  int let_go = 0;
  rcu::SyncPointScript::OnReach("list:let-go", [&] {
    ++let_go;
    Elsewhere([&] { caches_.Stream(2000); });
  });
  EXPECT_EQ(cache_.IterInodes({.filter = [](const Inode&) { return false; }},
                              [](Inode&) { return IterStep::kNext; }),
            std::errc{});
  EXPECT_EQ(let_go, 3);
  EXPECT_EQ(cache_.CountBusy(), 0u);
  EXPECT_EQ(let_go, 6);
}

// INODE-18.
TEST_P(InodeRace, EvictingAllUnusedLooksAtEachInodeOnce) {
  std::vector<InodeRef> busy;
  for (uint64_t key = 1; key <= 600; ++key) busy.push_back(caches_.Get(key));
  for (uint64_t key = 1001; key <= 2000; ++key) caches_.Get(key);
  CountAt looks("evict-unused:before-ilock");
  EXPECT_EQ(cache_.EvictUnused(), 1000u);
  EXPECT_EQ(looks.count(), 1600);
}

// INODE-1.
TEST_P(InodeRace, ADyingInodeGivesNoReference) {
  InodeRef doomed = GetDoomed(7);
  Inode& inode = *doomed;
  DyingInode dying(std::move(doomed));
  EXPECT_FALSE(icache::Grab(inode));
  EXPECT_FALSE(IgetFamily::IterGrab(inode, {}));
  EXPECT_EQ(inode.count, 0u);
  dying.LetGo();
}

TEST_P(InodeRace, TheLastReferenceToGoAfterAnUnmountEvictsAtOnce) {
  InodeRef held = caches_.Get(7);
  size_t busy = 0;
  OnceAt("iput:before-final", [&] { Elsewhere([&] { busy = cache_.Unmount(); }); });
  held = {};
  EXPECT_EQ(busy, 1u);
  EXPECT_EQ(cache_.unused(), 0u);
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_P(InodeRace, AnInodeNotToBeKeptIsWrittenBackAndThenEvicted) {
  Inode* const found = caches_.Get(7).release();
  caches_.operations.on_write = [&](Inode&) { EXPECT_EQ(caches_.operations.evicted, 0u); };
  OnceAt("iput:before-final", [&] {
    Elsewhere([&] {
      cache_.MarkDirty(*found);
      MarkDontCache(*found);
    });
  });
  Put(found);
  EXPECT_EQ(caches_.operations.written, 1u);
  EXPECT_EQ(caches_.operations.evicted, 1u);
  EXPECT_EQ(cache_.size(), 0u);
}

// Reclaim has unlinked an inode in use; before it continues, another thread drops the reference and
// adds the inode to another shard.
TEST_P(InodeRaceOfLruShards, AnInodePutBackWhileReclaimTakesItOffIsInOneShard) {
  caches_.Get(7);
  InodeRef user = caches_.Get(7);
  OnceAt("lru:isolated", [&] { Elsewhere([&] { user = {}; }); });
  EXPECT_EQ(cache_.Prune(1), 0u);
  EXPECT_FALSE(user);
  EXPECT_EQ(cache_.unused(), 1u);
  EXPECT_EQ(cache_.Prune(1), 1u);
  EXPECT_EQ(cache_.unused(), 0u);
}

}  // namespace
}  // namespace nfswalk::icache
#endif
