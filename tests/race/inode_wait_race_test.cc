// Lookups that find an inode dying or incomplete, and wait.

#include <gtest/gtest.h>

#include "nfsclient/icache/iget_family.h"
#include "rcu/defer.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "rcu/wait_table.h"
#include "tests/race/inode_race.h"

#ifndef NDEBUG
namespace nfswalk::icache {
namespace {

// INODE-4.
TEST_P(InodeRace, AnInodeThatBeginsToDieIsWaitedForAndMissed) {
  InodeRef doomed = GetDoomed(7);
  StopAt matched("find:after-match"), asleep("wait:before-sleep");
  Actor finder([&] { EXPECT_FALSE(LookupRcu(7)); });
  EXPECT_TRUE(matched.Reached(finder));
  DyingInode dying(std::move(doomed));
  matched.LetGo();
  EXPECT_TRUE(asleep.Reached(finder));
  dying.LetGo();
  asleep.LetGo();
}

// An inode inserted in front of the dying one meanwhile is found only from the head. INODE-4.
TEST_P(InodeRaceWithChainLocks, ALockedFinderSleepsWithoutTheLockAndStartsAgainAtTheHead) {
  DyingInode dying(GetDoomed(7));
  StopAt asleep("wait:before-sleep");
  InodeRef found;
  Actor finder([&] { found = LookupLocked(7); });
  EXPECT_TRUE(asleep.Reached(finder));
  InodeRef fresh = Creating(7);
  cache_.UnlockNew(*fresh);
  asleep.LetGo();
  dying.LetGo();
  finder.Join();
  EXPECT_EQ(found.get(), fresh.get());
}

// INODE-8.
TEST_P(InodeRaceUnderRcu, AFinderDoesNotSleepOnceTheInodeIsUnhashed) {
  InodeRef doomed = GetDoomed(7);
  Inode* const inode = doomed.get();
  OnceAt("find:after-match", [&] { Elsewhere([&] { doomed = {}; }); });
  int sleeps = 0;
  rcu::SyncPointScript::OnReach("wait:before-sleep", [&] {
    ++sleeps;
    rcu::WaitTable::Wake(inode);  // no other thread would
  });
  EXPECT_FALSE(LookupRcu(7));
  EXPECT_EQ(sleeps, 0);
}

// The two inodes belong to threads of one index, hence to one shard of the pool.
TEST_P(InodeRaceUnderRcu, TheMemoryOfAnInodeUnderAFinderIsNotReused) {
  InodeRef doomed, other;
  Elsewhere([&] { doomed = GetDoomed(7); });
  Inode* const found = doomed.get();
  OnceAt("find:after-match", [&] {
    Elsewhere([&] {
      doomed = {};
      other = caches_.Get(8);
    });
  });
  EXPECT_FALSE(LookupRcu(7));
  EXPECT_NE(other.get(), found);
}

TEST_P(InodeRace, ACompletionBetweenTicketAndSleepIsNotMissed) {
  FoundInode created = caches_.GetNew(7);
  StopAt asleep("wait:before-sleep");
  Actor finder([&] { EXPECT_EQ(LookupRcu(7).get(), created.inode.get()); });
  EXPECT_TRUE(asleep.Reached(finder));
  cache_.UnlockNew(*created.inode);
  asleep.LetGo();
}

// The eviction between ticket and sleep is not missed. Sanitizers detect any access to the memory;
// otherwise the next inode may reuse it. INODE-8.
TEST_P(InodeRace, AFinderDoesNotTouchTheInodeItSleptFor) {
  DyingInode dying(GetDoomed(7));
  StopAt asleep("wait:before-sleep");
  Actor finder([&] { EXPECT_FALSE(LookupRcu(7)); });
  EXPECT_TRUE(asleep.Reached(finder));
  dying.Evict();
  rcu::Barrier();
  asleep.LetGo();
  finder.Join();
  EXPECT_EQ(caches_.Get(8)->count, 1u);
}

TEST_P(InodeRace, AnInodeWrittenBackToDieIsWaitedForAndNotReclaimed) {
  caches_.Get(7);  // joins the LRU, and stays on it when used again
  InodeRef doomed = GetDoomed(7);
  cache_.MarkDirty(*doomed);
  StopAt writing("iput:writing-back"), asleep("wait:before-sleep");
  Actor evictor([&] { doomed = {}; });
  EXPECT_TRUE(writing.Reached(evictor));
  Actor finder([&] { EXPECT_FALSE(LookupRcu(7)); });
  EXPECT_TRUE(asleep.Reached(finder));
  EXPECT_EQ(cache_.Prune(10), 0u);
  EXPECT_EQ(cache_.EvictUnused(), 0u);
  EXPECT_EQ(Iterated(), 0u);
  writing.LetGo();
  asleep.LetGo();
  evictor.Join();
  EXPECT_EQ(caches_.operations.written, 1u);
  EXPECT_EQ(caches_.operations.evicted, 1u);
}

// Holds for lockless lookups, too. INODE-1.
TEST_P(InodeRace, AnInodeWrittenBackToDieIsDyingAtEveryMomentFromThenOn) {
  InodeRef doomed = GetDoomed(7);
  cache_.MarkDirty(*doomed);
  bool seen = true;
  OnceAt("iput:freeing", [&] {
    rcu::ReadGuard guard;
    seen = cache_.FindRcu(cache_.HashOf(7), KeyIdentity(7)) != nullptr;
  });
  doomed = {};
  EXPECT_FALSE(seen);
}

TEST_P(InodeRace, AWaiterForAnUnhashedInodeStartsAgain) {
  FoundInode created = caches_.GetNew(7);
  StopAt asleep("wait:before-sleep");
  Actor finder([&] { EXPECT_FALSE(LookupRcu(7)); });
  EXPECT_TRUE(asleep.Reached(finder));
  cache_.Unhash(*created.inode);
  cache_.UnlockNew(*created.inode);
  asleep.LetGo();
  finder.Join();
  EXPECT_EQ(created.inode->count, 1u);
}

// A lookup by file id alone finds the stale inode and waits for its eviction; a lookup by identity
// skips it and waits for its successor. In the end both wait for the successor.
TEST_P(InodeRace, AWakeUpServesTheWaitersOfEachInodeOfAKey) {
  InodeRef stale = caches_.Get(7);
  stale->flags = kStale;
  DyingInode dying(std::move(stale));
  StopAt first("wait:before-sleep");
  InodeRef by_fileid, by_identity;
  Actor finder([&] { by_fileid = cache_.Ilookup(7); });
  EXPECT_TRUE(first.Reached(finder));
  FoundInode created = caches_.GetNew(7);
  StopAt second("wait:before-sleep");
  Actor other([&] { by_identity = LookupRcu(7); });
  EXPECT_TRUE(second.Reached(other));
  StopAt third("wait:before-sleep");
  dying.LetGo();
  first.LetGo();
  EXPECT_TRUE(third.Reached(finder));
  cache_.UnlockNew(*created.inode);
  second.LetGo();
  third.LetGo();
  finder.Join();
  other.Join();
  EXPECT_EQ(by_fileid.get(), created.inode.get());
  EXPECT_EQ(by_identity.get(), created.inode.get());
}

}  // namespace
}  // namespace nfswalk::icache
#endif
