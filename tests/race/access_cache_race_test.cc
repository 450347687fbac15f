// Races of the access cache: interleavings forced at sync points, and a torture test in which the
// rights of each credential are distinct.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "access_cache/access_cache.h"
#include "access_cache/access_lru.h"
#include "rcu/defer.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "sunrpc_auth/credential_cache.h"
#include "tests/fixtures/access_caches.h"

namespace nfswalk::access_cache {
namespace {

using sunrpc_auth::CachedCredential;
using sunrpc_auth::Credential;
using sunrpc_auth::CredentialCache;
using sunrpc_auth::CredentialRef;
using Answer = std::optional<uint32_t>;

constexpr AccessAge kFresh = {.now_ns = 10, .lifetime_ns = 1000};

class AccessCacheRaceTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef NDEBUG
    GTEST_SKIP() << "no sync points in this build";
#endif
    for (uint32_t uid = 0; uid < users_.size(); ++uid) {
      users_[uid] = *credentials_.Lookup(Credential(uid, 1));
    }
  }
  void TearDown() override {
    rcu::SyncPointScript::ClearAll();
    cache_.Clear(lru_);
  }

  void Grant(uint32_t uid, uint32_t rights) {
    cache_.Insert(users_[uid], rights, kFresh.now_ns, cache_.epoch(), lru_);
  }
  Answer Peek(uint32_t uid) {
    rcu::ReadGuard guard;
    return cache_.PeekRcu(users_[uid].get(), kFresh);
  }
  Answer Search(uint32_t uid) {
    rcu::ReadGuard guard;
    return cache_.SearchRcu(users_[uid].get(), kFresh);
  }
  Answer Locked(uint32_t uid) { return cache_.SearchLocked(users_[uid].get(), kFresh); }

  // Runs `interruption` the first time that a thread reaches `name`.
  void Once(const char* name, std::function<void()> interruption) {
    rcu::SyncPointScript::OnReach(name, [this, interruption] {
      if (reached_++ == 0) interruption();
    });
  }

  CredentialCache credentials_{{.entries_max = 100}};
  rcu::KeyedChangeCount drops_;
  AccessLru lru_{100, drops_};
  LoneAccessCache cache_;
  std::array<CredentialRef, 10> users_;
  std::atomic<int> reached_{0};
};

// ACCESS-12.
TEST_F(AccessCacheRaceTest, APeekOvertakenByAChangeMissesOrAnswersAsOfItsLoad) {
  const auto invalidate = [&] { cache_.Invalidate(); };
  const auto evict = [&] {
    cache_.Clear(lru_);
    EXPECT_EQ(lru_.answers(), 0u);
  };
  // The results of the peek in flight; then of a peek and a search of the same user, and of a peek
  // of another user.
  const struct {
    const char* name;
    bool with_list;
    std::function<void()> change;
    Answer overtaken, peek, search, other;
  } rows[] = {
      {"replaced", false, [&] { Grant(1, 0x01); }, {}, 0x01, 0x01, {}},
      {"invalidated", false, invalidate, {}, {}, {}, {}},
      {"evicted", false, evict, {}, {}, {}, {}},
      {"evicted, then another user", false, [&] { evict(), Grant(2, 0x15); }, {}, {}, {}, 0x15},
      {"invalidated, then another", false, [&] { invalidate(), Grant(2, 0x15); }, {}, {}, {}, 0x15},
      {"moved to a list", false, [&] { Grant(2, 0x01); }, 0x15, {}, 0x15, 0x01},
      {"replaced in the list", true, [&] { Grant(1, 0x01); }, 0x15, 0x01, 0x01, {}},
      {"invalidated in the list", true, invalidate, {}, {}, {}, {}},
      {"evicted with the list", true, evict, {}, {}, {}, {}},
      {"dropped from the list", true, [&] { EXPECT_EQ(lru_.Shrink(1), 1u); }, 0x15, {}, {}, {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    cache_.Clear(lru_);
    if (row.with_list) ServeFromList(cache_, credentials_, lru_);
    Grant(1, 0x15);
    reached_ = 0;
    Once(row.with_list ? "access_list:peek-loaded" : "access_cache:peek-loaded", row.change);
    EXPECT_EQ(Peek(1), row.overtaken);
    EXPECT_EQ(reached_, 1);
    rcu::SyncPointScript::ClearAll();
    EXPECT_EQ(Peek(1), row.peek);
    EXPECT_EQ(Search(1), row.search);
    EXPECT_EQ(Peek(2), row.other);
  }
}

TEST_F(AccessCacheRaceTest, AnInvalidationJustBeforeTheInsertionWins) {
  for (const bool with_list : {false, true}) {
    if (with_list) ServeFromList(cache_, credentials_, lru_);
    reached_ = 0;
    Once("access_cache:inserting", [&] { cache_.Invalidate(); });
    Grant(1, 0x3f);
    EXPECT_EQ(reached_, 1);
    EXPECT_EQ(cache_.size(), 0u);  // a locked search would drop it
    EXPECT_EQ(Peek(1), std::nullopt);
    EXPECT_EQ(Locked(1), std::nullopt);
    rcu::SyncPointScript::ClearAll();
  }
}

// --- the entry embedded in the inode ---

TEST_F(AccessCacheRaceTest, AnOwnAnswerThatIsBeingReplacedIsMissedByPeeksOfTheMomentOnly) {
  Grant(1, 0x15);
  Answer peeked = 0xffu, searched = 0xffu;
  Once("access_cache:installing", [&] {
    peeked = Peek(1);
    searched = Search(1);
  });
  Grant(1, 0x01);
  EXPECT_EQ(reached_, 1);
  EXPECT_EQ(peeked, std::nullopt);
  EXPECT_EQ(searched, std::nullopt);
  EXPECT_EQ(Peek(1), 0x01);
}

TEST_F(AccessCacheRaceTest, AnAnswerIsFoundAlsoWhileItMovesToAList) {
  Grant(1, 0x15);
  Answer searched;
  Once("access_cache:list-published", [&] { searched = Search(1); });
  Grant(2, 0x01);
  EXPECT_EQ(reached_, 1);
  EXPECT_EQ(searched, 0x15);
  EXPECT_EQ(Search(1), 0x15);
  EXPECT_EQ(Search(2), 0x01);
}

// Otherwise another user's entry could follow in the same epoch, and a reader of the first could
// not distinguish them.
TEST_F(AccessCacheRaceTest, AnInsertionWhileTheCacheIsClearedEndsTheEpoch) {
  for (const bool with_list : {false, true}) {
    cache_.Clear(lru_);
    reached_ = 0;
    uint64_t during = 0;
    Once("access_cache:clearing", [&] {
      Grant(1, 0x15);
      if (with_list) Grant(2, 0x15);
      during = cache_.epoch();
    });
    cache_.Clear(lru_);
    rcu::SyncPointScript::ClearAll();
    EXPECT_GT(cache_.epoch(), during);
    EXPECT_EQ(cache_.size(), 0u);
  }
}

// --- the list ---

class AccessListRaceTest : public AccessCacheRaceTest {
 protected:
  void SetUp() override {
    AccessCacheRaceTest::SetUp();
    ServeFromList(cache_, credentials_, lru_);
  }
};

TEST_F(AccessListRaceTest, TheNewEntryIsFoundBeforeTheReplacedOneLeaves) {
  Grant(1, 0x15);
  Answer during;
  Once("access_list:replaced", [&] { during = Search(1); });
  Grant(1, 0x01);
  EXPECT_EQ(reached_, 1);
  EXPECT_EQ(during, 0x01);
}

TEST_F(AccessListRaceTest, APeekWhileAnotherUserBecomesTheNewestMissesOrAnswersItsOwn) {
  Grant(1, 0x01);
  Grant(2, 0x02);
  Once("access_list:peek-loaded", [&] { EXPECT_EQ(Locked(1), 0x01); });
  EXPECT_EQ(Peek(1), std::nullopt);
  EXPECT_EQ(Peek(1), 0x01);
}

TEST_F(AccessListRaceTest, AnEntryThatMovesIsMissedByPeeksOfTheMomentOnly) {
  Grant(1, 0x01);
  Grant(2, 0x02);
  Answer during = 0xffu;
  Once("access_list:moving", [&] { during = Search(1); });
  EXPECT_EQ(Locked(1), 0x01);
  EXPECT_EQ(reached_, 1);
  EXPECT_EQ(during, std::nullopt);
  EXPECT_EQ(Peek(1), 0x01);
}

TEST_F(AccessListRaceTest, AnEntryThatMovesInFrontOfASearchIsStillFound) {
  for (uint32_t uid : {1, 2, 3}) Grant(uid, uid);
  Once("access_list:search-step", [&] { EXPECT_EQ(Locked(1), 1u); });
  EXPECT_EQ(Search(1), 1u);
  EXPECT_EQ(reached_, 2);  // on 3 and on 2, before 3 moves to the front
}

TEST_F(AccessListRaceTest, ASearchGoesOnFromAnEntryDroppedUnderIt) {
  for (uint32_t uid : {1, 2, 3}) Grant(uid, uid);
  Once("access_list:search-step", [&] {
    Locked(1);  // the list is now 1 3 2
    EXPECT_EQ(lru_.Shrink(1), 1u);
    Locked(3);
    EXPECT_EQ(lru_.Shrink(1), 1u);  // evicts 3, the search's position
  });
  EXPECT_EQ(Search(2), std::nullopt);
  EXPECT_EQ(Search(3), 3u);
}

TEST_F(AccessListRaceTest, ASearchEndsThoughTheListTurnsForever) {
  for (uint32_t uid : {1, 2, 3}) Grant(uid, uid);
  uint32_t steps = 0;
  // Moves the entry under the search to the front, so that the other one comes next.
  rcu::SyncPointScript::OnReach("access_list:search-step", [&] { Locked(3 - steps++ % 2); });
  EXPECT_EQ(Search(9), std::nullopt);
  EXPECT_EQ(steps, AccessList::kSearchStepsMax);
}

// Credential k is granted only masks 4k..4k+3, so that a mask identifies it. Credentials are looked
// up without a reference and expire all the time: their addresses are reused.
constexpr uint32_t kIdentities = 6;
constexpr uint64_t kFloor = 200;
constexpr uint64_t kReadsMax = 20'000'000;

struct Torture {
  unsigned seed;
  CredentialCache credentials{{.entries_max = 2}};
  rcu::KeyedChangeCount drops;
  AccessLru lru;
  LoneAccessCache cache;
  LoneAccessCache neighbour;
  std::array<Credential, kIdentities> who{Credential(0, 1),         Credential(1, 1),
                                          Credential(1, 2),         Credential(1, 1, {3, 4}),
                                          Credential(1, 1, {4, 3}), Credential()};
  std::atomic<bool> done{false};
  std::atomic<uint64_t> peeks{0}, searches{0}, locked{0}, unknown{0}, foreign{0};

  Torture(unsigned with_seed, size_t limit) : seed(with_seed), lru(limit, drops) {}
  ~Torture() {
    cache.Clear(lru);
    neighbour.Clear(lru);
  }

  void Check(uint32_t identity, Answer answer, std::atomic<uint64_t>& hits) {
    if (!answer) return;
    ++hits;
    if (*answer / 4 != identity) ++foreign;
  }
  bool Satisfied() const {
    return peeks > kFloor && searches > kFloor && locked > kFloor && unknown > 0;
  }
};

void ReadAs(Torture& torture, uint32_t identity) {
  for (uint64_t i = 0; i < kReadsMax && !torture.done; ++i) {
    rcu::ReadGuard guard;
    const CachedCredential* const self = torture.credentials.LookupNonblock(torture.who[identity]);
    if (self == nullptr) {
      ++torture.unknown;
      continue;
    }
    torture.Check(identity, torture.cache.PeekRcu(self, kFresh), torture.peeks);
    torture.Check(identity, torture.cache.SearchRcu(self, kFresh), torture.searches);
    if (i % 16 == 0) {
      torture.Check(identity, torture.cache.SearchLocked(self, kFresh), torture.locked);
    }
  }
}

void Grant(Torture& torture, int rounds) {
  std::minstd_rand random(torture.seed);
  for (int i = 0; i < rounds || (!torture.Satisfied() && i < 200 * rounds); ++i) {
    const uint32_t identity = random() % kIdentities;
    LoneAccessCache& cache = random() % 8 == 0 ? torture.neighbour : torture.cache;
    const uint64_t epoch = cache.epoch();
    cache.Insert(*torture.credentials.Lookup(torture.who[identity]), identity * 4 + random() % 4,
                 kFresh.now_ns, epoch, torture.lru);
    if (i % 32 == 0) torture.cache.Invalidate();
    if (i % 64 == 0) torture.cache.Clear(torture.lru);
    if (i % 16 == 0) torture.lru.Shrink(1);
    if (i % 8 == 0) torture.credentials.Prune(~uint64_t{0});
  }
  torture.done = true;
}

class AccessCacheTorture : public testing::TestWithParam<size_t> {};

// No lookup returns another credential's rights under replacement, invalidation, eviction and
// expiry, and all counts balance at the end. ACCESS-10.
TEST_P(AccessCacheTorture, NoCredentialGetsTheRightsOfAnother) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Torture torture(seed, GetParam());
  {
    std::vector<std::jthread> readers;
    for (uint32_t identity : {1u, 3u, 4u}) {
      readers.emplace_back([&torture, identity] { ReadAs(torture, identity); });
    }
    std::jthread writer([&torture] { Grant(torture, 3000); });
  }
  EXPECT_EQ(torture.foreign, 0u);
  EXPECT_GT(torture.peeks, kFloor);
  EXPECT_GT(torture.searches, kFloor);
  EXPECT_GT(torture.locked, kFloor);
  EXPECT_GT(torture.unknown, 0u);
  EXPECT_EQ(torture.lru.answers(), torture.cache.size() + torture.neighbour.size());
  EXPECT_LE(torture.lru.entries(), GetParam());
  torture.lru.Shrink(1000);
  EXPECT_EQ(torture.lru.entries(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Limits, AccessCacheTorture, testing::Values(1, 3, 1000));

}  // namespace
}  // namespace nfswalk::access_cache
