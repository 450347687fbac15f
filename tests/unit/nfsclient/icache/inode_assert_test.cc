// INODE-12: a debug build aborts on a violation of the cache's contract. Two assertions are the
// table's (tests/unit/rcu/hash_table_test.cc).
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "rcu/counted_lock.h"
#include "rcu/read_guard.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/inode_caches.h"

#ifndef NDEBUG
namespace nfswalk::icache {
namespace {

constexpr uint64_t kKey = 7;

class InodeAssertDeathTest : public testing::TestWithParam<HashPolicy> {
 protected:
  InodeAssertDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  InodeCaches caches_{InodePolicy{.hash = GetParam()}};
  IgetFamily& cache_ = *caches_.cache;
};

// One of each kind of table.
INSTANTIATE_TEST_SUITE_P(Tables, InodeAssertDeathTest,
                         testing::Values(HashPolicy::kGlobalRcu, HashPolicy::kBitRcu,
                                         HashPolicy::kLfht),
                         [](const testing::TestParamInfo<HashPolicy>& info) {
                           return std::string(PolicyLabel(info.param));
                         });

using Call = std::function<void(IgetFamily&)>;

// Every call that may wait or evict.
const std::vector<std::pair<std::string, Call>>& SleepingCalls() {
  static KeyIdentity identity(kKey);
  static const std::vector<std::pair<std::string, Call>> calls = {
      {"Iget", [](IgetFamily& cache) { (void)cache.Iget(kKey); }},
      {"Iget5", [](IgetFamily& cache) { (void)cache.Iget5(cache.HashOf(kKey), identity); }},
      {"Iget5Rcu", [](IgetFamily& cache) { (void)cache.Iget5Rcu(cache.HashOf(kKey), identity); }},
      {"Ilookup", [](IgetFamily& cache) { cache.Ilookup(kKey); }},
      {"Ilookup5", [](IgetFamily& cache) { cache.Ilookup5(cache.HashOf(kKey), identity); }},
      {"Ilookup5Rcu", [](IgetFamily& cache) { cache.Ilookup5Rcu(cache.HashOf(kKey), identity); }},
      {"Ilookup5NoWait",
       [](IgetFamily& cache) { cache.Ilookup5NoWait(cache.HashOf(kKey), identity); }},
      {"Ilookup5NoWaitRcu",
       [](IgetFamily& cache) { cache.Ilookup5NoWaitRcu(cache.HashOf(kKey), identity); }},
      {"Insert5",
       [](IgetFamily& cache) {
         (void)cache.Insert5(cache.NewInode(), cache.HashOf(kKey), identity);
       }},
      {"InsertLocked", [](IgetFamily& cache) { cache.InsertLocked(*cache.NewInode().release()); }},
      {"IterInodes",
       [](IgetFamily& cache) { cache.IterInodes({}, [](Inode&) { return IterStep::kNext; }); }},
      {"EvictUnused", [](IgetFamily& cache) { cache.EvictUnused(); }},
      {"Put", [](IgetFamily& cache) { Put(cache.NewInode().release()); }},
  };
  return calls;
}

// INODE-12.
TEST_P(InodeAssertDeathTest, NoCallThatLooksUnderRcuHoldsAHashLock) {
  rcu::CountedLock chain;
  std::lock_guard lock(chain);
  KeyIdentity identity(kKey);
  EXPECT_DEATH((void)cache_.Iget5Rcu(cache_.HashOf(kKey), identity),
               "must not be held: hash chain");
  EXPECT_DEATH(cache_.Ilookup5Rcu(cache_.HashOf(kKey), identity), "must not be held: hash chain");
}

TEST_P(InodeAssertDeathTest, CallsThatMaySleepAreNotMadeInAnRcuSection) {
  for (const auto& [name, call] : SleepingCalls()) {
    EXPECT_DEATH(
        {
          rcu::ReadGuard guard;
          call(cache_);
        },
        "sleeping inside a read-side critical section")
        << name;
  }
}

TEST_P(InodeAssertDeathTest, AnUnhashedInodeIsNotMetInALockedChain) {
  if (GetParam() == HashPolicy::kLfht) GTEST_SKIP() << "its chains are never locked";
  InodeRef inode = caches_.Get(kKey);
  EXPECT_DEATH(
      {
        rcu::SyncPointScript::OnReach("find:after-match", [&] {
          inode->hash.store(0);
          inode->state.store(kFreeing);
        });
        caches_.Find(kKey);
      },
      "chain == nullptr");
}

TEST_P(InodeAssertDeathTest, OnlyANewInodeIsUnlockedDiscardedOrFailed) {
  InodeRef inode = caches_.Get(kKey);
  EXPECT_DEATH(cache_.UnlockNew(*inode), "kNew");
  EXPECT_DEATH(cache_.DiscardNew(icache::Hold(*inode)), "kNew");
  EXPECT_DEATH(cache_.IgetFailed(icache::Hold(*inode)), "kNew");
}

TEST_P(InodeAssertDeathTest, TheLastReferenceOfANewInodeIsNotPut) {
  EXPECT_DEATH({ FoundInode fresh = caches_.GetNew(kKey); }, "kNew");
}

TEST_P(InodeAssertDeathTest, AReferenceThatNobodyHoldsIsNotPut) {
  Inode* const inode = caches_.Get(kKey).get();
  EXPECT_DEATH(Put(inode), "count > 0");
  EXPECT_DEATH(icache::Hold(*inode), "before > 0");
}

TEST_P(InodeAssertDeathTest, AClearedInodeIsNotPut) {
  InodeRef inode = caches_.Get(kKey);
  EXPECT_DEATH(
      {
        inode->state.store(kFreeing | kClear);
        inode = {};
        Put(inode.release());
      },
      "kClear");
}

TEST_P(InodeAssertDeathTest, AnInodeIsNotPutUnderItsOwnLock) {
  InodeRef one = caches_.Get(kKey), other = caches_.Get(kKey);
  EXPECT_DEATH(
      {
        std::lock_guard lock(one->lock);
        Put(other.release());
      },
      "must not be held: inode");
}

TEST_P(InodeAssertDeathTest, AnInodeIsNotDestroyedOnAList) {
  caches_.operations.on_evict = [](Inode& inode) {
    if (inode.fileid == kKey + 1) inode.list_shard = 0;
  };
  EXPECT_DEATH(caches_.Stream(kKey + 1), "kOffList");
}

TEST_P(InodeAssertDeathTest, AHashedInodeIsNotInserted) {
  InodeRef inode = caches_.Get(kKey);
  KeyIdentity other(kKey + 1);
  EXPECT_DEATH((void)cache_.Insert5(icache::Hold(*inode), cache_.HashOf(kKey + 1), other),
               "own.hashed");
}

TEST_P(InodeAssertDeathTest, ALookWithoutAReferenceIsInAnRcuSection) {
  EXPECT_DEATH(cache_.FindRcu(cache_.HashOf(kKey), KeyIdentity(kKey)),
               "not inside a read-side critical section");
}

// Overwrites an inode's state after the visitor's decision about it.
class MeddlingOperations : public CountingOperations {
 public:
  using CountingOperations::CountingOperations;
  std::errc IterInodesUnsafe(const UnsafeInodeVisitor& visit) override {
    return CountingOperations::IterInodesUnsafe([&](Inode& inode) {
      const IterStep step = visit(inode);
      std::lock_guard lock(inode.lock);
      inode.Reset(meddle ? kFreeing : 0);
      return step;
    });
  }
  bool meddle = false;
};

TEST(InodeEvictDeathTest, OnlyADyingInodeIsEvicted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const InodeCacheOptions options = {.policy = {HashPolicy::kIndex, ListPolicy::kNone}};
  MeddlingOperations operations(options);
  const auto cache = *IgetFamily::Create(options, operations);
  cache->UnlockNew(*cache->Iget(kKey)->inode);
  EXPECT_DEATH(
      {
        operations.meddle = true;
        cache->EvictUnused();
      },
      "kFreeing");
}

}  // namespace
}  // namespace nfswalk::icache
#endif
