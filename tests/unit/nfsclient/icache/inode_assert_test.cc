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
#include "tests/unit/nfsclient/icache/inode_calls.h"

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
  std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"InsertLocked", [&] { cache_.InsertLocked(*cache_.NewInode().release()); }},
      {"IterInodes", [&] { cache_.IterInodes({}, [](Inode&) { return IterStep::kNext; }); }},
      {"EvictUnused", [&] { cache_.EvictUnused(); }},
      {"Put", [&] { Put(cache_.NewInode().release()); }},
  };
  for (const Call& call : AllCalls())
    calls.emplace_back(call.name, [&] { call.make(cache_, kKey); });
  for (const auto& [name, call] : calls) {
    EXPECT_DEATH(
        {
          rcu::ReadGuard guard;
          call();
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

TEST_P(InodeAssertDeathTest, AnInodeInTheWrongStateIsRefused) {
  InodeRef inode = caches_.Get(kKey), again = caches_.Get(kKey);
  Inode* const unused = caches_.Get(kKey + 1).get();
  KeyIdentity other(kKey + 2);
  caches_.operations.on_evict = [](Inode& evicted) {
    if (evicted.fileid == kKey + 3) evicted.list_shard = 0;
  };
  const struct {
    const char* name;
    std::function<void()> act;
    const char* assertion;
  } rows[] = {
      {"complete: unlocked", [&] { cache_.UnlockNew(*inode); }, "kNew"},
      {"complete: discarded", [&] { cache_.DiscardNew(icache::Hold(*inode)); }, "kNew"},
      {"complete: failed", [&] { cache_.IgetFailed(icache::Hold(*inode)); }, "kNew"},
      {"new: last put", [&] { FoundInode fresh = caches_.GetNew(kKey + 4); }, "kNew"},
      {"unused: put", [&] { Put(unused); }, "count > 0"},
      {"unused: held", [&] { icache::Hold(*unused).release(); }, "before > 0"},
      {"cleared: put",
       [&] {
         inode->state.store(kFreeing | kClear);
         Put(inode.release());
       },
       "kClear"},
      {"under its own lock: put",
       [&] {
         std::lock_guard lock(inode->lock);
         Put(again.release());
       },
       "must not be held: inode"},
      {"on a list: destroyed", [&] { caches_.Stream(kKey + 3); }, "kOffList"},
      {"hashed: inserted",
       [&] { (void)cache_.Insert5(icache::Hold(*inode), cache_.HashOf(kKey + 2), other); },
       "own.hashed"},
      {"found outside a section", [&] { cache_.FindRcu(cache_.HashOf(kKey), KeyIdentity(kKey)); },
       "not inside a read-side critical section"},
  };
  for (const auto& row : rows) {
    EXPECT_DEATH(row.act(), row.assertion) << row.name;
  }
}

// Overwrites an inode's state after the visitor's decision about it.
class MeddlingOperations : public CountingOperations {
 public:
  using CountingOperations::CountingOperations;
  std::errc IterInodesUnsafe(const UnsafeInodeVisitor& visitor) override {
    const auto visit_and_meddle = [&](Inode& inode) {
      const IterStep step = visitor.visit(inode);
      std::lock_guard lock(inode.lock);
      inode.Reset(meddle ? kFreeing : 0);
      return step;
    };
    return CountingOperations::IterInodesUnsafe(
        {.visit = visit_and_meddle, .pause = visitor.pause});
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
