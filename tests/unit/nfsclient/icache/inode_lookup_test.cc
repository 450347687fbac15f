// INODE-13: the result of every entry point in every state of the inode, for every policy.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "rcu/lock_order.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/inode_caches.h"
#include "tests/unit/nfsclient/icache/inode_calls.h"

namespace nfswalk::icache {
namespace {

class InodeLookupTest : public testing::TestWithParam<InodePolicy> {
 protected:
  InodeLookupTest() {
    caches_.operations.on_evict = [this](Inode& inode) {
      if (&inode != doomed_) return;
      doomed_ = nullptr;
      EXPECT_TRUE(inode.hashed());
      while_dying_(inode);
    };
  }
  ~InodeLookupTest() override { rcu::SyncPointScript::ClearAll(); }

  // The result of an entry point on a miss.
  static Got Miss(const Call& call) { return call.creates ? Got::kFresh : Got::kNothing; }
  void Remove(uint64_t key) {
    if (InodeRef inode = caches_.Find(key)) cache_.Unhash(*inode);
  }
  // Calls on another thread, and runs `release` once that waits at the sync point.
  template <class Release>
  Answer AnswerAfterWaiting(const Call& call, const char* point, Release&& release) {
    std::latch waits(1);
    std::atomic<bool> noted{false}, returned{false};
    const auto note = [&] {
      if (!noted.exchange(true)) waits.count_down();
    };
    rcu::SyncPointScript::OnReach(point, note);
    Answer answer;
    std::jthread caller([&] {
      answer = call.make(cache_, kKey);
      returned = true;
      note();
    });
#ifndef NDEBUG
    waits.wait();
    EXPECT_FALSE(returned) << call.name << " does not wait";
#endif
    release();
    caller.join();
    rcu::SyncPointScript::ClearAll();
    return answer;
  }
  // Runs `then` while the inode of kKey is dying and still hashed.
  void WhileDying(std::function<void(Inode&)> then) {
    while_dying_ = std::move(then);
    InodeRef inode = caches_.Get(kKey);
    MarkDontCache(*inode);
    doomed_ = inode.get();
  }
  const Inode* Peek(uint64_t hash, uint64_t key) {
    rcu::ReadGuard guard;
    return cache_.FindRcu(hash, KeyIdentity(key));
  }
  const Inode* Peek(uint64_t key) { return Peek(cache_.HashOf(key), key); }

  static constexpr uint64_t kKey = 7;
  std::atomic<Inode*> doomed_{nullptr};
  std::function<void(Inode&)> while_dying_;
  InodeCaches caches_{GetParam()};
  IgetFamily& cache_ = *caches_.cache;
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeLookupTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(InodeLookupTest, IgetMakesAnAbsentInodeAndLookupsFindNone) {
  for (const Call& call : AllCalls()) {
    EXPECT_EQ(call.make(cache_, kKey).got, Miss(call)) << call.name;
    EXPECT_EQ(cache_.size(), call.creates ? 1u : 0u) << call.name;
    Remove(kKey);
  }
  EXPECT_EQ(Peek(kKey), nullptr);
}

// INODE-13.
TEST_P(InodeLookupTest, APresentInodeIsFoundByAll) {
  const InodeRef inode = caches_.Get(kKey);
  for (const Call& call : AllCalls()) {
    EXPECT_EQ(call.make(cache_, kKey), (Answer{Got::kThere, inode.get()})) << call.name;
  }
  EXPECT_EQ(Peek(kKey), inode.get());
  EXPECT_EQ(inode->count.load(), 1u);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_P(InodeLookupTest, AnUnhashedInodeIsReplacedAndGoesWithItsLastReference) {
  InodeRef first = caches_.Get(kKey);
  cache_.Unhash(*first);
  EXPECT_NE(caches_.Get(kKey).get(), first.get());
  first = {};
  EXPECT_EQ(cache_.size(), 1u);
}

// INODE-2.
TEST_P(InodeLookupTest, AStaleInodeIsReplaced) {
  const InodeRef stale = caches_.Get(kKey);
  stale->flags.store(kStale);
  EXPECT_NE(caches_.Get(kKey).get(), stale.get());
}

TEST_P(InodeLookupTest, AnUnusedInodeIsFoundByAll) {
  const Inode* const inode = caches_.Get(kKey).get();
  for (const Call& call : AllCalls()) {
    EXPECT_EQ(call.make(cache_, kKey), (Answer{Got::kThere, inode})) << call.name;
    EXPECT_EQ(inode->count.load(), 0u);
  }
}

TEST_P(InodeLookupTest, ANewInodeIsWaitedForByAllButTheNoWaitForms) {
  for (const Call& call : AllCalls()) {
    FoundInode fresh = caches_.GetNew(kKey);
    const Answer there = {Got::kThere, fresh.inode.get()};
    EXPECT_EQ(Peek(kKey), fresh.inode.get()) << "without a reference";
    if (call.waits_for_new) {
      EXPECT_EQ(AnswerAfterWaiting(call, "wait-new:after-ticket",
                                   [&] { cache_.UnlockNew(*fresh.inode); }),
                there)
          << call.name;
    } else {
      EXPECT_EQ(call.make(cache_, kKey), there) << call.name;
      EXPECT_TRUE(fresh.inode->Is(kNew));
      cache_.UnlockNew(*fresh.inode);
    }
    cache_.Unhash(*fresh.inode);
  }
}

TEST_P(InodeLookupTest, AnInodeThatCannotBeCompletedIsNotFoundByItsWaiters) {
  for (const Call& call : AllCalls()) {
    if (!call.waits_for_new) continue;
    FoundInode fresh = caches_.GetNew(kKey);
    const InodeRef kept = icache::Hold(*fresh.inode);
    const Answer answer = AnswerAfterWaiting(call, "wait-new:after-ticket",
                                             [&] { cache_.IgetFailed(std::move(fresh.inode)); });
    EXPECT_EQ(answer.got, Miss(call)) << call.name;
    EXPECT_NE(answer.inode, kept.get()) << call.name;
    EXPECT_FALSE(kept->Is(kNew));
    EXPECT_EQ(kept->count.load(), 1u) << "the waiter has put it";
    Remove(kKey);
  }
}

TEST_P(InodeLookupTest, AFileThatIsBeingCreatedIsStaleToAllAndNotWaitedFor) {
  InodeRef creating = caches_.Create(kKey);
  EXPECT_TRUE(creating->Is(kNew));
  EXPECT_TRUE(creating->Is(kCreating));
  for (const Call& call : AllCalls()) {
    EXPECT_EQ(call.make(cache_, kKey).got, call.creates ? Got::kStale : Got::kNothing) << call.name;
  }
  EXPECT_EQ(creating->count.load(), 1u);
  EXPECT_EQ(cache_.size(), 1u);
  cache_.UnlockNew(*creating);
  for (const Call& call : AllCalls()) {
    EXPECT_EQ(call.make(cache_, kKey), (Answer{Got::kThere, creating.get()})) << call.name;
  }
}

TEST_P(InodeLookupTest, AFileThatIsNotCreatedAfterAllIsStaleUntilItsLastReferenceGoes) {
  InodeRef creating = caches_.Create(kKey);
  InodeRef kept = icache::Hold(*creating);
  cache_.DiscardNew(std::move(creating));
  for (const Call& call : AllCalls()) {
    EXPECT_EQ(call.make(cache_, kKey).got, call.creates ? Got::kStale : Got::kNothing) << call.name;
  }
  kept = {};
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(AllCalls().front().make(cache_, kKey).got, Got::kFresh);
}

TEST_P(InodeLookupTest, ADyingInodeIsWaitedForByAllAndNeverFound) {
  for (const Call& call : AllCalls()) {
    std::latch dying(1), may_go(1);
    std::jthread evictor([&] {
      WhileDying([&](Inode& inode) {
        EXPECT_TRUE(inode.Is(kFreeing));
        dying.count_down();
        may_go.wait();
      });
    });
    dying.wait();
    const Answer answer =
        AnswerAfterWaiting(call, "wait:after-ticket", [&] { may_go.count_down(); });
    evictor.join();
    EXPECT_EQ(answer.got, Miss(call)) << call.name;
    Remove(kKey);
  }
}

TEST_P(InodeLookupTest, AnInodeThatIsWrittenBackByItsLastUserIsWaitedForByAll) {
  for (const Call& call : AllCalls()) {
    std::latch writing(1), may_go(1);
    caches_.operations.on_write = [&](Inode& inode) {
      EXPECT_TRUE(inode.Is(kWillFree));
      writing.count_down();
      may_go.wait();
    };
    std::jthread last_user([&] {
      InodeRef inode = caches_.Get(kKey);
      cache_.MarkDirty(*inode);
      MarkDontCache(*inode);
    });
    writing.wait();
    EXPECT_EQ(Peek(kKey), nullptr);
    EXPECT_EQ(AnswerAfterWaiting(call, "wait:after-ticket", [&] { may_go.count_down(); }).got,
              Miss(call))
        << call.name;
    last_user.join();
    Remove(kKey);
  }
}

TEST_P(InodeLookupTest, AnInodeWhoseIdentityIsRefusedIsNotInserted) {
  KeyIdentity identity(kKey);
  identity.set_error = std::errc::io_error;
  const uint64_t hash = cache_.HashOf(kKey);
  EXPECT_EQ(AnswerOf(cache_, cache_.Iget5(hash, identity)).got, Got::kSetFailed);
  EXPECT_EQ(AnswerOf(cache_, cache_.Iget5Rcu(hash, identity)).got, Got::kSetFailed);
  EXPECT_EQ(AnswerOf(cache_, cache_.Insert5(cache_.NewInode(), hash, identity)).got,
            Got::kSetFailed);
  rcu::AssertMaySleep();
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(caches_.operations.evicted, 3u);
  EXPECT_FALSE(caches_.Find(kKey));
  identity.set_error = {};
  EXPECT_EQ(AnswerOf(cache_, cache_.Iget5Rcu(hash, identity)).got, Got::kFresh);
}

TEST_P(InodeLookupTest, AnOwnInodeIsInsertedOrGivenUpForTheOneThatIsThere) {
  KeyIdentity identity(kKey);
  InodeRef own = cache_.NewInode();
  const Inode* const first = own.get();
  IgetResult inserted = cache_.Insert5(std::move(own), cache_.HashOf(kKey), identity);
  ASSERT_TRUE(inserted);
  EXPECT_TRUE(inserted->is_new);
  EXPECT_EQ(inserted->inode.get(), first);
  EXPECT_EQ(first->fileid, kKey);
  cache_.UnlockNew(*inserted->inode);

  IgetResult again = cache_.Insert5(cache_.NewInode(), cache_.HashOf(kKey), identity);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->inode.get(), first);
  EXPECT_EQ(caches_.operations.evicted, 1u);
  EXPECT_EQ(cache_.size(), 1u);
}

TEST_P(InodeLookupTest, ANewFilesKeyIsBusyIfItIsTaken) {
  const auto insert = [&] {
    InodeRef fresh = cache_.NewInode();
    fresh->fileid = kKey;
    return cache_.InsertLocked(*fresh);
  };
  {
    InodeRef creating = caches_.Create(kKey);
    EXPECT_EQ(insert(), std::errc::device_or_resource_busy) << "at once";
    cache_.UnlockNew(*creating);
    EXPECT_EQ(insert(), std::errc::device_or_resource_busy);
    EXPECT_EQ(creating->count, 1u);
  }
  EXPECT_EQ(insert(), std::errc::device_or_resource_busy) << "even if unused";
  EXPECT_EQ(cache_.size(), 1u);
}

// INODE-6.
TEST_P(InodeLookupTest, ANewFileIsInsertedBesideAnUnhashedOrADyingOne) {
  InodeRef unhashed = caches_.Get(kKey);
  cache_.Unhash(*unhashed);
  {
    InodeRef fresh = caches_.Create(kKey);
    cache_.UnlockNew(*fresh);
    EXPECT_EQ(caches_.Find(kKey).get(), fresh.get());
    cache_.Unhash(*fresh);
  }
  WhileDying([&](Inode& dying) {
    InodeRef fresh = caches_.Create(kKey);
    EXPECT_NE(fresh.get(), &dying);
    EXPECT_EQ(Peek(kKey), fresh.get());
    cache_.UnlockNew(*fresh);
    EXPECT_EQ(caches_.Find(kKey).get(), fresh.get());
  });
  EXPECT_TRUE(caches_.Find(kKey)) << "the eviction unhashed the new one";
}

TEST_P(InodeLookupTest, ANewFileWaitsForAnInodeOfItsKeyAndTakesItsPlaceIfThatFails) {
  const Call insert = {"InsertLocked", true, true,
                       [](IgetFamily& cache, uint64_t, KeyIdentity&, uint64_t key) -> Answer {
                         InodeRef fresh = cache.NewInode();
                         fresh->fileid = key;
                         if (cache.InsertLocked(*fresh) != std::errc{}) return {Got::kBusy};
                         cache.UnlockNew(*fresh);
                         return {Got::kFresh, fresh.get()};
                       }};
  FoundInode complete = caches_.GetNew(kKey);
  EXPECT_EQ(AnswerAfterWaiting(insert, "wait-new:after-ticket",
                               [&] { cache_.UnlockNew(*complete.inode); })
                .got,
            Got::kBusy);
  EXPECT_EQ(complete.inode->count, 1u);
  cache_.Unhash(*complete.inode);
  FoundInode failing = caches_.GetNew(kKey);
  EXPECT_EQ(AnswerAfterWaiting(insert, "wait-new:after-ticket",
                               [&] { cache_.IgetFailed(std::move(failing.inode)); })
                .got,
            Got::kFresh);
}

TEST_P(InodeLookupTest, FindNoWaitGoesOnTakesOrStopsAsItsCallerSays) {
  using Take = IgetFamily::Take;
  const uint64_t hash = cache_.HashOf(kKey);
  for (const uint64_t key : {1, 2, 3}) {
    KeyIdentity identity(key);
    cache_.UnlockNew(*cache_.Iget5Rcu(hash, identity)->inode);
  }
  int asked = 0;
  EXPECT_FALSE(cache_.FindNoWait(hash, [&](Inode&) {
    ++asked;
    return Take::kNext;
  }));
  EXPECT_EQ(asked, 3);
  EXPECT_FALSE(cache_.FindNoWait(hash, [&](Inode&) {
    ++asked;
    return Take::kStop;
  }));
  EXPECT_EQ(asked, 4);
  const InodeRef taken = cache_.FindNoWait(hash, [](Inode& inode) {
    if (inode.fileid != 2) return Take::kNext;
    std::lock_guard lock(inode.lock);
    inode.TakeReferenceLocked();
    return Take::kTake;
  });
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->fileid, 2u);
  EXPECT_EQ(taken->count.load(), 1u);
}

TEST_P(InodeLookupTest, FindNoWaitAndFindRcuDoNotWaitForTheDying) {
  WhileDying([&](Inode& dying) {
    bool met = false;
    EXPECT_FALSE(cache_.FindNoWait(cache_.HashOf(kKey), [&](Inode& inode) {
      met = &inode == &dying && inode.Is(kDying);
      return IgetFamily::Take::kStop;
    }));
    EXPECT_TRUE(met) << "the callback decides for any state";
    EXPECT_EQ(Peek(kKey), nullptr);
    EXPECT_FALSE(icache::Grab(dying));
  });
}

TEST_P(InodeLookupTest, OneHashHoldsManyIdentities) {
  const uint64_t hash = cache_.HashOf(kKey);
  for (uint64_t key = 1; key <= 50; ++key) {
    KeyIdentity identity(key);
    cache_.UnlockNew(*cache_.Iget5Rcu(hash, identity)->inode);
  }
  EXPECT_EQ(cache_.size(), 50u);
  for (uint64_t key = 1; key <= 50; ++key) {
    EXPECT_EQ(cache_.Ilookup5(hash, KeyIdentity(key))->fileid, key);
    EXPECT_EQ(cache_.Ilookup5Rcu(hash, KeyIdentity(key))->fileid, key);
    EXPECT_EQ(Peek(hash, key)->fileid, key);
  }
  EXPECT_FALSE(cache_.Ilookup5(hash, KeyIdentity(51)));
}

// INODE-22.
TEST_P(InodeLookupTest, SuperblocksThatShareATableDoNotFindEachOthersInodes) {
  if (GetParam().hash == HashPolicy::kIndex) GTEST_SKIP() << "an index has one owner";
  CountingOperations operations({.policy = GetParam()});
  const auto other =
      *IgetFamily::Create({.policy = GetParam(), .share_table_with = &cache_}, operations);
  const InodeRef ours = caches_.Get(kKey);
  for (const Call& call : AllCalls()) {
    if (call.creates) continue;
    EXPECT_EQ(call.make(*other, kKey).got, Got::kNothing) << call.name;
  }
  for (const Call& call : AllCalls()) {
    const Answer theirs = call.make(*other, kKey);
    EXPECT_NE(theirs.got, Got::kNothing) << call.name;
    EXPECT_NE(theirs.inode, ours.get()) << call.name;
    EXPECT_EQ(call.make(cache_, kKey), (Answer{Got::kThere, ours.get()})) << call.name;
  }
  EXPECT_EQ(other->Unmount(), 0u);
  EXPECT_EQ(caches_.Find(kKey).get(), ours.get());
}

}  // namespace
}  // namespace nfswalk::icache
