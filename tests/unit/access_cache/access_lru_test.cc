#include "access_cache/access_lru.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "access_cache/access_cache.h"
#include "rcu/read_guard.h"
#include "sunrpc_auth/credential_cache.h"
#include "tests/fixtures/access_caches.h"

namespace nfswalk::access_cache {
namespace {

using sunrpc_auth::Credential;
using sunrpc_auth::CredentialCache;
using sunrpc_auth::CredentialRef;

constexpr AccessAge kFresh = {.now_ns = 10, .lifetime_ns = 1000};

// Inodes at a limit that they share, each with entries of several credentials.
class AccessLruTest : public testing::Test {
 protected:
  AccessLruTest() {
    for (LoneAccessCache& cache : inodes_) ServeFromList(cache, credentials_, lru_);
  }
  ~AccessLruTest() override {
    for (LoneAccessCache& cache : inodes_) cache.Clear(lru_);
  }

  void Grant(size_t inode, uint32_t uid) {
    inodes_[inode].Insert(*credentials_.Lookup(Credential(uid, 1)), uid, 10, inodes_[inode].epoch(),
                          lru_);
  }
  std::optional<uint32_t> Search(size_t inode, uint32_t uid) {
    const CredentialRef user = *credentials_.Lookup(Credential(uid, 1));
    rcu::ReadGuard guard;
    return inodes_[inode].SearchRcu(user.get(), kFresh);
  }
  size_t SumOfSizes() const {
    size_t sum = 0;
    for (const AccessCache& cache : inodes_) sum += cache.size();
    return sum;
  }

  CredentialCache credentials_{{.entries_max = 1000}};
  rcu::KeyedChangeCount drops_;
  AccessLru lru_{4, drops_};
  std::array<LoneAccessCache, 8> inodes_;
};

// ACCESS-13.
TEST_F(AccessLruTest, TheLimitHoldsAfterEveryInsertion) {
  for (uint32_t i = 0; i < 100; ++i) {
    Grant(i * 5 % 8, i % 7);
    EXPECT_LE(lru_.entries(), 4u);
    EXPECT_EQ(lru_.entries(), SumOfSizes());
  }
  EXPECT_EQ(lru_.entries(), 4u);
}

TEST_F(AccessLruTest, OverTheLimitTheFirstListedInodeLosesItsOldestEntry) {
  Grant(0, 1);
  Grant(0, 2);
  Grant(1, 3);
  Grant(1, 4);
  Grant(2, 5);
  EXPECT_EQ(Search(0, 1), std::nullopt);
  EXPECT_EQ(Search(0, 2), 2u);
  Grant(2, 6);  // inode 0 is last now, so inode 1 is evicted
  EXPECT_EQ(Search(0, 2), 2u);
  EXPECT_EQ(Search(1, 3), std::nullopt);
  EXPECT_EQ(Search(1, 4), 4u);
}

TEST_F(AccessLruTest, ARecentlyUsedEntryIsNotTheOldest) {
  Grant(0, 1);
  Grant(0, 2);
  inodes_[0].SearchLocked(credentials_.Lookup(Credential(1, 1))->get(), kFresh);
  EXPECT_EQ(lru_.Shrink(1), 1u);
  EXPECT_EQ(Search(0, 1), 1u);
  EXPECT_EQ(Search(0, 2), std::nullopt);
}

TEST_F(AccessLruTest, ReplacingAnEntryAtTheLimitEvictsNoOther) {
  for (uint32_t uid : {1, 2, 3, 4}) Grant(uid, uid);
  Grant(4, 4);
  EXPECT_EQ(lru_.entries(), 4u);
  for (uint32_t uid : {1, 2, 3, 4}) EXPECT_EQ(Search(uid, uid), uid);
}

TEST_F(AccessLruTest, ShrinkTakesOneFromEachInodeInTurn) {
  Grant(0, 1);
  Grant(0, 2);
  Grant(1, 1);
  Grant(1, 2);
  EXPECT_EQ(lru_.Shrink(2), 2u);
  EXPECT_EQ(inodes_[0].size(), 1u);
  EXPECT_EQ(inodes_[1].size(), 1u);
  EXPECT_EQ(lru_.Shrink(100), 2u);
  EXPECT_EQ(lru_.entries(), 0u);
  EXPECT_EQ(lru_.Shrink(100), 0u);
}

TEST_F(AccessLruTest, AnInodeEmptiedByShrinkIsListedAgain) {
  Grant(0, 1);
  EXPECT_EQ(lru_.Shrink(1), 1u);
  Grant(0, 2);
  EXPECT_EQ(Search(0, 2), 2u);
  EXPECT_EQ(lru_.Shrink(1), 1u);
  EXPECT_EQ(inodes_[0].size(), 0u);
}

TEST_F(AccessLruTest, AnInodeEmptiedByALockedSearchIsPassedOver) {
  Grant(0, 1);
  Grant(1, 2);
  const AccessAge expired = {.now_ns = 5000, .lifetime_ns = 1000};
  inodes_[0].SearchLocked(credentials_.Lookup(Credential(1, 1))->get(), expired);
  EXPECT_EQ(lru_.entries(), 1u);
  EXPECT_EQ(lru_.Shrink(1), 1u);
  EXPECT_EQ(inodes_[1].size(), 0u);
}

TEST(AccessLruSmallestTest, ALimitOfOneKeepsTheLastAnswer) {
  CredentialCache credentials({.entries_max = 10});
  rcu::KeyedChangeCount drops;
  AccessLru lru(1, drops);
  std::array<LoneAccessCache, 3> inodes;
  for (LoneAccessCache& cache : inodes) ServeFromList(cache, credentials, lru);
  for (uint32_t i = 0; i < 30; ++i) {
    const CredentialRef user = *credentials.Lookup(Credential(i % 2, 1));
    LoneAccessCache& cache = inodes[i % 3];
    cache.Insert(user, 0x15, 10, cache.epoch(), lru);
    EXPECT_EQ(lru.entries(), 1u);
    rcu::ReadGuard guard;
    EXPECT_EQ(cache.PeekRcu(user.get(), kFresh), 0x15u);
  }
  for (LoneAccessCache& cache : inodes) cache.Clear(lru);
}

// The limit counts allocated entries; the one embedded in the inode is exempt.
TEST(AccessLruSmallestTest, ALimitOfNoneLeavesTheFirstAnswerOfEachInode) {
  CredentialCache credentials({.entries_max = 10});
  rcu::KeyedChangeCount drops;
  AccessLru lru(0, drops);
  std::array<LoneAccessCache, 3> inodes;
  const CredentialRef first = *credentials.Lookup(Credential(1, 1));
  const CredentialRef second = *credentials.Lookup(Credential(2, 1));
  for (LoneAccessCache& cache : inodes) cache.Insert(first, 0x15, 10, cache.epoch(), lru);
  EXPECT_EQ(lru.answers(), 3u);
  EXPECT_EQ(lru.entries(), 0u);
  inodes[0].Insert(second, 0x15, 10, inodes[0].epoch(), lru);
  EXPECT_EQ(lru.answers(), 2u);
  EXPECT_EQ(lru.entries(), 0u);
  EXPECT_EQ(inodes[0].size(), 0u);
  for (LoneAccessCache& cache : inodes) cache.Clear(lru);
  EXPECT_EQ(lru.answers(), 0u);
}

TEST(AccessLruScanTest, AShrinkMayVisitEveryInode) {
  CredentialCache credentials({.entries_max = 10});
  rcu::KeyedChangeCount drops;
  AccessLru lru(1000, drops);
  std::deque<LoneAccessCache> inodes(300);
  const CredentialRef user = *credentials.Lookup(Credential(1, 1));
  for (LoneAccessCache& cache : inodes) ServeFromList(cache, credentials, lru);
  for (LoneAccessCache& cache : inodes) cache.Insert(user, 0x15, 10, cache.epoch(), lru);
  EXPECT_EQ(lru.Shrink(250), 250u);
  EXPECT_EQ(lru.entries(), 50u);
  for (LoneAccessCache& cache : inodes) cache.Clear(lru);
}

}  // namespace
}  // namespace nfswalk::access_cache
