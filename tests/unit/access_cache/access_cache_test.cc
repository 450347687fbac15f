#include "access_cache/access_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "access_cache/access_lru.h"
#include "rcu/allocation_fault.h"
#include "rcu/defer.h"
#include "rcu/lock_order.h"
#include "rcu/object_pool.h"
#include "rcu/page_region.h"
#include "rcu/read_guard.h"
#include "sunrpc_auth/credential_cache.h"
#include "tests/fixtures/access_caches.h"

namespace nfswalk::access_cache {
namespace {

using sunrpc_auth::Credential;
using sunrpc_auth::CredentialCache;
using sunrpc_auth::CredentialRef;
using Answer = std::optional<uint32_t>;

constexpr uint64_t kLifetimeNs = 1000;
constexpr uint64_t kNow = 5000;
constexpr AccessAge kFresh = {.now_ns = kNow, .lifetime_ns = kLifetimeNs};

class AccessCacheTest : public testing::Test {
 protected:
  AccessCacheTest() { rcu::AllocationFault::Clear(); }
  ~AccessCacheTest() override {
    rcu::AllocationFault::Clear();
    cache_.Clear(lru_);
  }

  CredentialRef User(uint32_t uid) { return *credentials_.Lookup(Credential(uid, 1)); }
  void Grant(uint32_t uid, uint32_t rights, uint64_t granted_at_ns = kNow) {
    cache_.Insert(User(uid), rights, granted_at_ns, cache_.epoch(), lru_);
  }
  Answer Peek(uint32_t uid, AccessAge age = kFresh) {
    const CredentialRef user = User(uid);
    rcu::ReadGuard guard;
    return cache_.PeekRcu(user.get(), age);
  }
  Answer Search(uint32_t uid, AccessAge age = kFresh) {
    const CredentialRef user = User(uid);
    rcu::ReadGuard guard;
    return cache_.SearchRcu(user.get(), age);
  }
  Answer Locked(uint32_t uid, AccessAge age = kFresh) {
    return cache_.SearchLocked(User(uid).get(), age);
  }
  // Expects one result of all three lookups.
  void ExpectEach(uint32_t uid, Answer answer) {
    EXPECT_EQ(Peek(uid), answer);
    EXPECT_EQ(Search(uid), answer);
    EXPECT_EQ(Locked(uid), answer);
  }

  CredentialCache credentials_{{.entries_max = 1000}};
  rcu::KeyedChangeCount drops_;
  AccessLru lru_{1000, drops_};
  LoneAccessCache cache_;
};

TEST_F(AccessCacheTest, EveryLookupReportsTheRawServerBits) {
  for (uint32_t rights : {0x00, 0x01, 0x15, 0x3f}) {
    Grant(1, rights);
    ExpectEach(1, rights);
  }
}

TEST_F(AccessCacheTest, OnlyTheCredentialThatAskedIsAnswered) {
  ExpectEach(1, std::nullopt);
  EXPECT_EQ(cache_.size(), 0u);
  Grant(1, 0x3f);
  ExpectEach(2, std::nullopt);
}

TEST_F(AccessCacheTest, PeekSeesTheNewestAndSearchSeesAll) {
  Grant(1, 0x01);
  Grant(2, 0x02);
  Grant(3, 0x03);
  EXPECT_EQ(Peek(1), std::nullopt);
  EXPECT_EQ(Peek(2), std::nullopt);
  EXPECT_EQ(Peek(3), 0x03);
  for (uint32_t uid : {1, 2, 3}) EXPECT_EQ(Search(uid), uid);
  EXPECT_EQ(cache_.size(), 3u);
}

TEST_F(AccessCacheTest, ALockedHitIsFoundByTheNextPeek) {
  for (uint32_t uid : {1, 2, 3}) Grant(uid, uid);
  for (uint32_t uid : {1, 1, 2, 3, 1, 3}) {
    EXPECT_EQ(Locked(uid), uid);
    EXPECT_EQ(Peek(uid), uid);
    for (uint32_t other : {1, 2, 3}) EXPECT_EQ(Search(other), other);
  }
  EXPECT_EQ(cache_.size(), 3u);
}

// Most inodes are used by one credential: no allocation, no mount-wide lock.
TEST_F(AccessCacheTest, TheAnswerOfOneCredentialTakesNoEntry) {
  const CredentialRef known_already = User(1);
  rcu::AllocationFault::FailAfter(0);
  for (uint32_t rights : {0x15, 0x01, 0x3f}) {
    Grant(1, rights);
    EXPECT_EQ(Peek(1), rights);
  }
  rcu::AllocationFault::Clear();
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(lru_.answers(), 1u);
  EXPECT_EQ(lru_.entries(), 0u);
}

TEST_F(AccessCacheTest, ASecondCredentialMovesBothAnswersToAList) {
  Grant(1, 0x15, kNow + 3);
  Grant(2, 0x01, kNow + 5);
  EXPECT_EQ(lru_.answers(), 2u);
  EXPECT_EQ(lru_.entries(), 2u);
  EXPECT_EQ(cache_.size(), 2u);
  for (const auto& [uid, rights, since] :
       {std::tuple(1u, 0x15u, kNow + 3), {2u, 0x01u, kNow + 5}}) {
    EXPECT_EQ(Search(uid, {since + kLifetimeNs - 1, kLifetimeNs}), rights);
    EXPECT_EQ(Search(uid, {since + kLifetimeNs, kLifetimeNs}), std::nullopt);
  }
}

TEST_F(AccessCacheTest, AnotherCredentialTakesThePlaceOfWhatWasInvalidated) {
  Grant(1, 0x15);
  cache_.Invalidate();
  Grant(2, 0x01);
  EXPECT_EQ(lru_.answers(), 1u);
  EXPECT_EQ(lru_.entries(), 0u);
  EXPECT_EQ(Search(1), std::nullopt);
  EXPECT_EQ(Search(2), 0x01);
  EXPECT_EQ(credentials_.Prune(~uint64_t{0}), 1u) << "the first is still pinned";
}

TEST_F(AccessCacheTest, ANewAnswerReplacesTheOldOne) {
  Grant(1, 0x3f);
  Grant(2, 0x3f);
  Grant(1, 0x01);
  EXPECT_EQ(cache_.size(), 2u);
  EXPECT_EQ(lru_.entries(), 2u);
  ExpectEach(1, 0x01);
}

// ACCESS-11: an entry that replaces another has a timestamp of its own.
TEST_F(AccessCacheTest, AReplacingEntryHasItsOwnTimeStamp) {
  Grant(1, 0x3f, kNow);
  Grant(1, 0x3f, kNow + 900);
  const AccessAge later = {.now_ns = kNow + 1500, .lifetime_ns = kLifetimeNs};
  EXPECT_EQ(Peek(1, later), 0x3f);
  EXPECT_EQ(Locked(1, later), 0x3f);
}

TEST_F(AccessCacheTest, TheLifetimeIsHalfOpenAndBeginsBeforeTheGrant) {
  Grant(1, 0x3f);
  struct Case {
    AccessAge age;
    bool answers;
  };
  for (const Case& c :
       {Case{{kNow, kLifetimeNs}, true}, Case{{kNow + kLifetimeNs - 1, kLifetimeNs}, true},
        Case{{kNow + kLifetimeNs, kLifetimeNs}, false}, Case{{kNow, 0}, false},
        Case{{kNow - 1, kLifetimeNs}, true}, Case{{kNow - 1, 0}, false},
        Case{{kNow + 7, ~uint64_t{0}}, true}}) {
    EXPECT_EQ(Peek(1, c.age).has_value(), c.answers) << c.age.now_ns;
    EXPECT_EQ(Search(1, c.age).has_value(), c.answers) << c.age.now_ns;
  }
  EXPECT_EQ(Locked(1, {kNow + kLifetimeNs, kLifetimeNs}), std::nullopt);
}

TEST_F(AccessCacheTest, ALockedSearchDropsWhatIsTooOld) {
  Grant(1, 0x3f);
  Grant(2, 0x3f);
  EXPECT_EQ(Locked(1, {kNow + kLifetimeNs, kLifetimeNs}), std::nullopt);
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(lru_.entries(), 1u);
  EXPECT_EQ(Search(1), std::nullopt);
  EXPECT_EQ(Search(2), 0x3f);
}

TEST_F(AccessCacheTest, AfterInvalidateNothingAnswers) {
  Grant(1, 0x3f);
  Grant(2, 0x3f);
  cache_.Invalidate();
  for (uint32_t uid : {1, 2}) ExpectEach(uid, std::nullopt);
}

TEST_F(AccessCacheTest, AnInsertionSweepsOutWhatWasInvalidated) {
  for (uint32_t uid = 1; uid <= 10; ++uid) Grant(uid, 0x3f);
  cache_.Invalidate();
  Grant(11, 0x01);
  EXPECT_EQ(cache_.size(), 1u);
  EXPECT_EQ(lru_.entries(), 1u);
  EXPECT_EQ(Peek(11), 0x01);
}

// ACCESS-8.
TEST_F(AccessCacheTest, AGrantAskedForBeforeAnInvalidationIsNotCached) {
  const uint64_t epoch = cache_.epoch();
  cache_.Invalidate();
  cache_.Insert(User(1), 0x3f, kNow, epoch, lru_);
  ExpectEach(1, std::nullopt);
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(lru_.entries(), 0u);
}

TEST_F(AccessCacheTest, ALateGrantDoesNotReplaceANewerOne) {
  const uint64_t epoch = cache_.epoch();
  cache_.Invalidate();
  Grant(1, 0x01);
  cache_.Insert(User(1), 0x3f, kNow, epoch, lru_);
  EXPECT_EQ(Peek(1), 0x01);
}

// ACCESS-7.
TEST_F(AccessCacheTest, TheFirstAnswerAfterInvalidatingAnEmptyCacheIsKept) {
  cache_.Invalidate();
  Grant(1, 0x15);
  EXPECT_EQ(Peek(1), 0x15);
}

TEST_F(AccessCacheTest, WithoutMemoryAnAnswerIsSilentlyNotCached) {
#ifdef NDEBUG
  GTEST_SKIP() << "no failing allocations in this build";
#endif
  Grant(1, 0x01);
  const CredentialRef user = User(2);
  for (int allocations = 0; allocations < 3; ++allocations) {  // a list and an entry
    rcu::AllocationFault::FailAfter(allocations);
    cache_.Insert(user, 0x3f, kNow, cache_.epoch(), lru_);
    rcu::AllocationFault::Clear();
    EXPECT_EQ(Peek(1), 0x01);
    EXPECT_EQ(Search(2), std::nullopt);
    EXPECT_EQ(cache_.size(), 1u);
    EXPECT_EQ(lru_.entries(), 0u);
  }
}

TEST_F(AccessCacheTest, AnAnswerOfTheInodeItselfPinsItsCredential) {
  Grant(1, 0x3f);
  EXPECT_EQ(credentials_.Prune(~uint64_t{0}), 0u);
  cache_.Clear(lru_);
  EXPECT_EQ(credentials_.Prune(~uint64_t{0}), 1u);
}

// The pin outlasts every reader that may compare with the entry. ACCESS-11.
TEST_F(AccessCacheTest, AnEntryPinsItsCredentialUntilItsReadersAreGone) {
  ServeFromList(cache_, credentials_, lru_);
  rcu::Barrier();
  credentials_.Prune(~uint64_t{0});
  Grant(1, 0x3f);
  EXPECT_EQ(credentials_.Prune(~uint64_t{0}), 0u);
  {
    rcu::ReadGuard guard;
    cache_.Clear(lru_);
    EXPECT_EQ(credentials_.Prune(~uint64_t{0}), 0u);
  }
  rcu::Barrier();
  EXPECT_EQ(credentials_.Prune(~uint64_t{0}), 1u);
}

TEST_F(AccessCacheTest, AClearedCacheIsEmptyAndUsableAgain) {
  const uint64_t epoch = cache_.epoch();
  for (uint32_t uid : {1, 2, 3}) Grant(uid, 0x3f);
  cache_.Clear(lru_);
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(lru_.entries(), 0u);
  EXPECT_EQ(lru_.Shrink(10), 0u);
  cache_.Insert(User(1), 0x3f, kNow, epoch, lru_);
  EXPECT_EQ(Peek(1), std::nullopt) << "requested before the inode was evicted";
  Grant(2, 0x02);
  EXPECT_EQ(Peek(2), 0x02);
}

// ACCESS-12.
TEST_F(AccessCacheTest, SearchWithoutALockIsBounded) {
  constexpr uint32_t kUsers = AccessList::kSearchStepsMax + 1;
  for (uint32_t uid = 1; uid <= kUsers; ++uid) Grant(uid, 0x3f);
  EXPECT_EQ(Search(1), std::nullopt);
  EXPECT_EQ(Search(2), 0x3f);
  EXPECT_EQ(Locked(1), 0x3f);
  EXPECT_EQ(Search(1), 0x3f);
}

TEST_F(AccessCacheTest, LookupsWithoutALockTakeNoneAndStoreNothing) {
  const CredentialRef one = User(1), two = User(2);
  struct Holder {
    LoneAccessCache cache;
    rcu::DeferHead defer_head;
  };
  rcu::ObjectPool<Holder> pool;
  Holder* const holder = pool.Allocate();
  LoneAccessCache& cache = holder->cache;
  cache.Insert(one, 0x01, kNow, cache.epoch(), lru_);
  cache.Insert(two, 0x02, kNow, cache.epoch(), lru_);
  rcu::Barrier();
  const uint64_t locks_before = rcu::ThreadLockCount();
  Answer peek, search_far, search_near, miss;
  rcu::PageRegion::FreezeAll();
  {
    rcu::ReadGuard guard;
    const auto* borrowed = credentials_.LookupNonblock(Credential(1, 1));
    peek = cache.PeekRcu(two.get(), kFresh);
    search_near = cache.SearchRcu(two.get(), kFresh);
    search_far = cache.SearchRcu(borrowed, kFresh);
    miss = cache.PeekRcu(borrowed, kFresh);
  }
  rcu::PageRegion::ThawAll();
  EXPECT_EQ(rcu::ThreadLockCount(), locks_before);
  EXPECT_EQ(peek, 0x02);
  EXPECT_EQ(search_near, 0x02);
  EXPECT_EQ(search_far, 0x01);
  EXPECT_EQ(miss, std::nullopt);
  cache.Clear(lru_);
  pool.Free(holder);
}

// ACCESS-6: in every frozen state a result of a peek or of a lockless search equals that of the
// locked search.
TEST_F(AccessCacheTest, NoLookupContradictsAnother) {
  const std::vector<std::pair<std::string, std::function<void()>>> steps = {
      {"grant 1", [&] { Grant(1, 0x01); }},
      {"grant 2", [&] { Grant(2, 0x02); }},
      {"regrant 1", [&] { Grant(1, 0x11, kNow + 300); }},
      {"use 2", [&] { Locked(2); }},
      {"invalidate", [&] { cache_.Invalidate(); }},
      {"grant 2 again", [&] { Grant(2, 0x22, kNow + 500); }},
      {"shrink", [&] { lru_.Shrink(1); }},
      {"grant 1 again", [&] { Grant(1, 0x21, kNow + 100); }},
      {"clear", [&] { cache_.Clear(lru_); }}};
  int answers = 0;
  for (const auto& [name, step] : steps) {
    step();
    for (uint64_t now_ns = kNow; now_ns <= kNow + 2 * kLifetimeNs; now_ns += 100) {
      for (uint32_t uid : {2, 1, 3}) {
        const AccessAge age = {now_ns, kLifetimeNs};
        const Answer peek = Peek(uid, age), search = Search(uid, age);
        if (peek) {
          EXPECT_EQ(peek, search) << name << " uid " << uid << " now " << now_ns;
        }
        if (search) {
          ++answers;
          EXPECT_EQ(Locked(uid, age), search) << name << " uid " << uid << " now " << now_ns;
          EXPECT_EQ(Peek(uid, age), search);
        }
      }
    }
  }
  EXPECT_GT(answers, 50);
}

}  // namespace
}  // namespace nfswalk::access_cache
