// Lookups in chains that change, tables that grow and tables shared by superblocks.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "nfsclient/icache/iget_family.h"
#include "rcu/sync_point.h"
#include "tests/race/inode_race.h"

#ifndef NDEBUG
namespace nfswalk::icache {
namespace {

// Matches one key; runs a hook when it compares another given key.
class InterruptingIdentity final : public InodeIdentity {
 public:
  InterruptingIdentity(uint64_t key, uint64_t other, std::function<void()> meanwhile)
      : key_(key), other_(other), meanwhile_(std::move(meanwhile)) {}
  bool Test(const Inode& inode) const override {
    if (inode.fileid == other_ && meanwhile_) Elsewhere(std::exchange(meanwhile_, nullptr));
    return inode.fileid == key_;
  }
  std::errc Set(Inode&) override { return std::errc::bad_address; }
  bool happened() const { return !meanwhile_; }

 private:
  const uint64_t key_, other_;
  mutable std::function<void()> meanwhile_;
};

// INODE-9.
TEST_P(InodeRace, TwoUnhashesRemoveAnInodeOnce) {
  InodeRef inode = caches_.Get(7);
  OnceAt("unhash:before-lock", [&] { Elsewhere([&] { cache_.Unhash(*inode); }); });
  cache_.Unhash(*inode);
  EXPECT_FALSE(inode->hashed());
  EXPECT_FALSE(LookupLocked(7));
}

TEST_P(InodeRaceWithChainLocks, AnInodeWhoseChainMovesBeforeItIsUnhashedIsRemovedThere) {
  InodeRef inode = caches_.Get(7);
  OnceAt("unhash:before-lock", [&] { GrowTable(); });
  cache_.Unhash(*inode);
  EXPECT_FALSE(LookupRcu(7));
  EXPECT_FALSE(LookupLocked(7));
}

// INODE-11.
TEST_P(InodeRaceWithBoth, ALookupWhoseInodeMovesToAnotherTableEndsAndCreatesNoSecond) {
  InodeRef wanted = GetInChain(1), passed = GetInChain(2);
  InterruptingIdentity identity(1, 2, [&] { GrowTable(); });
  const IgetResult found = GetInChain(identity);
  EXPECT_TRUE(identity.happened());
  EXPECT_EQ(found->inode.get(), wanted.get());
}

TEST_P(InodeRaceUnderRcu, ALookupGoesOnFromAnInodeThatLeavesTheChain) {
  InodeRef wanted = GetInChain(1), middle = GetInChain(2), head = GetInChain(3);
  for (InodeRef* passed : {&middle, &head}) {
    MarkDontCache(**passed);
    InterruptingIdentity identity(1, (*passed)->fileid, [&] { *passed = {}; });
    InodeRef found = cache_.Ilookup5Rcu(kHash, identity);
    EXPECT_TRUE(identity.happened());
    EXPECT_EQ(found.get(), wanted.get());
  }
}

TEST_P(InodeRaceOfTwoSuperblocks, BothCreateOneKeyAtOnceAndHaveAnInodeEach) {
  InodeRef theirs;
  OnceAt("insert:before-lock", [&] { Elsewhere([&] { theirs = theirs_.Get(7); }); });
  FoundInode ours = caches_.GetNew(7);
  EXPECT_TRUE(ours.is_new);
  cache_.UnlockNew(*ours.inode);
  EXPECT_NE(ours.inode.get(), theirs.get());
  EXPECT_EQ(LookupRcu(7).get(), ours.inode.get());
  EXPECT_EQ(cache_.Ilookup(7).get(), ours.inode.get());
  EXPECT_EQ(theirs_.Find(7).get(), theirs.get());
  EXPECT_EQ(Iterated(), 1u);
}

TEST_P(InodeRaceOfTwoSuperblocks, ADyingInodeOfTheOtherIsNotWaitedFor) {
  InodeRef doomed = theirs_.Get(7);
  MarkDontCache(*doomed);
  DyingInode dying(std::move(doomed));
  AbortAt("wait:before-sleep");
  EXPECT_FALSE(LookupRcu(7));
  InodeRef ours = caches_.Get(7);
  dying.Evict();
  EXPECT_EQ(LookupLocked(7).get(), ours.get());
}

TEST_P(InodeRaceOfTwoSuperblocks, NoIdentityIsAskedAboutAnInodeOfTheOther) {
  class OwnIdentity final : public InodeIdentity {
   public:
    explicit OwnIdentity(IgetFamily& own) : own_(own) {}
    bool Test(const Inode& inode) const override {
      EXPECT_TRUE(own_.Owns(inode));
      return inode.fileid == 7;
    }
    std::errc Set(Inode& inode) override {
      inode.fileid = 7;
      return {};
    }

   private:
    IgetFamily& own_;
  } identity(cache_);
  InodeRef theirs = theirs_.Get(7);
  const uint64_t hash = cache_.HashOf(7);
  EXPECT_FALSE(cache_.Ilookup5(hash, identity));
  EXPECT_FALSE(cache_.Ilookup5Rcu(hash, identity));
  auto match = [&](Inode& inode) { return identity.Test(inode), IgetFamily::Take::kNext; };
  EXPECT_FALSE(cache_.FindNoWait(hash, match));
  IgetResult ours = cache_.Iget5(hash, identity);
  EXPECT_TRUE(ours->is_new);
  cache_.UnlockNew(*ours->inode);
}

// INODE-11.
TEST_P(InodeRace, AnIdentityMayBeAskedWhileTheFileSystemsPartDies) {
  InodeRef doomed = GetDoomed(7);
  StopAt asleep("wait:before-sleep");
  std::optional<Actor> finder;
  caches_.operations.on_evict = [&](Inode&) {
    finder.emplace([&] { EXPECT_FALSE(LookupRcu(7)); });
    EXPECT_TRUE(asleep.Reached(*finder));
  };
  doomed = {};
  asleep.LetGo();
  finder->Join();
  caches_.operations.on_evict = {};
}

TEST_P(InodeRace, AnInodeThatItsIdentityRefusesWhileItDiesIsNotWaitedFor) {
  InodeRef doomed = GetDoomed(7), fresh;
  caches_.operations.on_evict = [&](Inode& inode) {
    inode.flags = kStale;
    Elsewhere([&] { fresh = caches_.Get(7); });
  };
  doomed = {};
  caches_.operations.on_evict = {};
  EXPECT_EQ(LookupLocked(7).get(), fresh.get());
}

TEST_P(InodeRaceDeathTest, NoCallThatMaySleepIsMadeUnderAChainsLock) {
  caches_.Get(7);
  const auto under_the_lock = [&](const std::function<void()>& call) {
    cache_.FindNoWait(cache_.HashOf(7), [&](Inode&) {
      call();
      return IgetFamily::Take::kNext;
    });
  };
  EXPECT_DEATH(under_the_lock([&] { LookupRcu(7); }), "lock order");
  EXPECT_DEATH(under_the_lock([&] { LookupLocked(8); }), "lock order");
  EXPECT_DEATH(under_the_lock([&] { caches_.Get(9); }), "lock order");
  EXPECT_DEATH(under_the_lock([&] { Creating(10); }), "lock order");
}

// The chain is 3, 2, 1. Once 3 has moved, a lookup in the old chain reaches its end behind 3.
TEST_P(InodeRaceWithBoth, AMissDuringGrowthCreatesNoSecondInode) {
  InodeRef wanted = GetInChain(1), middle = GetInChain(2), head = GetInChain(3);
  std::optional<StopAt> missed;
  std::optional<Actor> finder;
  rcu::SyncPointScript::OnReach("hash_table:node-moved", [&] {
    if (finder || head->hash_next.load() == middle.get()) return;
    missed.emplace("insert:before-lock");
    finder.emplace([&] {
      KeyIdentity identity(1);
      const IgetResult found = GetInChain(identity);
      EXPECT_EQ(found->inode.get(), wanted.get());
    });
    EXPECT_TRUE(missed->Reached(*finder));
  });
  for (uint64_t key = 1000; !finder; ++key) caches_.Get(key);
  missed->LetGo();
  finder->Join();
  EXPECT_EQ(wanted->count, 1u);
}

// Each insertion moves a few buckets, and nothing moves in between.
TEST_P(InodeRaceWithChainLocks, InTheMiddleOfAGrowthWhatHasMovedIsFoundAndWhatHasNot) {
  CountAt growths("hash_table:growth-started"), moves("hash_table:node-moved");
  uint64_t next = 1000;
  while (growths.count() == 0 || moves.count() < 100) caches_.Get(next++);
  size_t missed = 0;
  for (uint64_t key = 1000; key < next; ++key) missed += !LookupRcu(key) + !LookupLocked(key);
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(growths.count(), 1);
  EXPECT_LT(moves.count(), static_cast<int>(next - 1000)) << "the growth has ended";
}

TEST_P(InodeRaceWithChainLocks, InodesInsertedOrUnhashedDuringAGrowthAreInTheRightTable) {
  InodeRef leaving = GetInChain(1), staying = GetInChain(2);
  std::optional<Actor> inserter, remover;
  OnceAt("hash_table:growth-started", [&] {
    inserter.emplace([&] { caches_.Get(8); });
    remover.emplace([&] { cache_.Unhash(*leaving); });
  });
  for (uint64_t key = 1000; !remover; ++key) caches_.Get(key);
  inserter->Join();
  remover->Join();
  GrowTable();
  EXPECT_TRUE(LookupLocked(8));
  EXPECT_FALSE(cache_.Ilookup5(kHash, KeyIdentity(1)));
  EXPECT_EQ(cache_.Ilookup5Rcu(kHash, KeyIdentity(2)).get(), staying.get());
}

}  // namespace
}  // namespace nfswalk::icache
#endif
