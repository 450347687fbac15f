// Concurrent creations of one inode, and lookups of it meanwhile.

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "nfsclient/icache/iget_family.h"
#include "tests/race/inode_race.h"

#ifndef NDEBUG
namespace nfswalk::icache {
namespace {

// Waits until a thread that has passed "wait:before-sleep" sleeps: its state is S (proc(5)).
void AwaitSleep(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (std::string stat; stat.find(") S") == std::string::npos; std::this_thread::yield()) {
    std::getline(std::ifstream(path), stat);
  }
}

// INODE-5.
TEST_P(InodeRace, TwoCreatorsInsertOneInode) {
  InodeRef winner;
  OnceAt("insert:before-lock", [&] { Elsewhere([&] { winner = caches_.Get(7); }); });
  const InodeRef loser = caches_.Get(7);
  EXPECT_EQ(loser.get(), winner.get());
  EXPECT_EQ(winner->count, 2u);
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(caches_.operations.evicted, 1u) << "the loser's own";
}

TEST_P(InodeRace, TheCreatorThatLostWaitsForTheInodeToBeComplete) {
  StopAt missed("insert:before-lock"), asleep("wait:before-sleep");
  InodeRef found;
  Actor loser([&] { found = caches_.Get(7); });
  EXPECT_TRUE(missed.Reached(loser));
  FoundInode created = caches_.GetNew(7);
  EXPECT_TRUE(created.is_new);
  missed.LetGo();
  EXPECT_TRUE(asleep.Reached(loser));
  cache_.UnlockNew(*created.inode);
  asleep.LetGo();
  loser.Join();
  EXPECT_EQ(found.get(), created.inode.get());
  EXPECT_EQ(caches_.operations.evicted, 1u) << "the loser's own";
}

// INODE-7.
TEST_P(InodeRace, AfterAFailedCreationOneWaiterCreates) {
  FoundInode failing = caches_.GetNew(7);
  CountAt asleep("wait:before-sleep");
  std::array<InodeRef, 3> found;
  std::array<std::atomic<pid_t>, 3> threads{};
  std::atomic<int> creators{0};
  std::deque<Actor> waiters;
  for (size_t i = 0; i < found.size(); ++i) {
    waiters.emplace_back([&, i] {
      threads[i] = gettid();
      FoundInode got = caches_.GetNew(7);
      creators += got.is_new;
      if (got.is_new) cache_.UnlockNew(*got.inode);
      found[i] = std::move(got.inode);
    });
  }
  asleep.Await(found.size());
  for (const auto& thread : threads) AwaitSleep(thread);
  cache_.IgetFailed(std::move(failing.inode));
  for (Actor& waiter : waiters) waiter.Join();
  EXPECT_EQ(creators, 1);
  EXPECT_EQ(found[0].get(), found[1].get());
  EXPECT_EQ(found[0].get(), found[2].get());
  EXPECT_EQ(found[0]->count, 3u);
  EXPECT_EQ(cache_.size(), 1u) << "the one that failed was evicted with its last reference";
}

// INODE-6.
TEST_P(InodeRace, AFileBeingCreatedIsStaleToAllAtOnce) {
  InodeRef file = Creating(7);
  AbortAt("wait:before-sleep");
  EXPECT_FALSE(LookupRcu(7));
  EXPECT_FALSE(LookupLocked(7));
  EXPECT_FALSE(cache_.Ilookup(7));
  EXPECT_EQ(Iget5Rcu(7).error(), InodeError::kStale);
  EXPECT_EQ(cache_.Iget(7).error(), InodeError::kStale);
  cache_.UnlockNew(*file);
  EXPECT_EQ(LookupRcu(7).get(), file.get());
  EXPECT_EQ(caches_.Get(7).get(), file.get());
}

TEST_P(InodeRace, AFileBeingCreatedSinceALookupMissedItIsStaleToTheInserter) {
  InodeRef file;
  OnceAt("insert:before-lock", [&] { file = Creating(7); });
  EXPECT_EQ(Iget5Rcu(7).error(), InodeError::kStale);
  EXPECT_EQ(caches_.operations.evicted, 1u) << "the inserter's own";
  cache_.UnlockNew(*file);
}

TEST_P(InodeRace, AFileNotCreatedAfterAllIsStaleUntilItIsGone) {
  InodeRef file = Creating(7);
  InodeRef other = icache::Hold(*file);
  cache_.DiscardNew(std::move(file));
  EXPECT_FALSE(LookupRcu(7));
  EXPECT_EQ(Iget5Rcu(7).error(), InodeError::kStale);
  DyingInode dying(std::move(other));
  StopAt asleep("wait:before-sleep");
  Actor creator([&] { EXPECT_TRUE(caches_.Get(7)); });
  EXPECT_TRUE(asleep.Reached(creator));
  dying.LetGo();
  asleep.LetGo();
}

TEST_P(InodeRace, AnInodeThatBeginsToDieWhenItIsFoundIsNotTaken) {
  InodeRef doomed = GetDoomed(7);
  StopAt matched("insert-locked:after-match");
  InodeRef fresh = Fresh(7);
  Actor creator([&] { EXPECT_EQ(cache_.InsertLocked(*fresh), std::errc{}); });
  EXPECT_TRUE(matched.Reached(creator));
  DyingInode dying(std::move(doomed));
  matched.LetGo();
  creator.Join();
  dying.LetGo();
  cache_.UnlockNew(*fresh);
}

TEST_P(InodeRace, AnInodeNotYetListedIsWaitedForAndNotIterated) {
  StopAt unlisted("insert:before-sblist"), asleep("wait:before-sleep");
  Actor creator([&] { caches_.Get(7); });
  EXPECT_TRUE(unlisted.Reached(creator));
  InodeRef found;
  Actor finder([&] { found = LookupRcu(7); });
  EXPECT_TRUE(asleep.Reached(finder));
  EXPECT_EQ(Iterated(), 0u);
  EXPECT_EQ(cache_.EvictUnused(), 0u);
  unlisted.LetGo();
  asleep.LetGo();
  finder.Join();
  creator.Join();
  EXPECT_TRUE(found);
  EXPECT_EQ(Iterated(), 1u);
}

}  // namespace
}  // namespace nfswalk::icache
#endif
