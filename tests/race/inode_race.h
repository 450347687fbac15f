// inode_race: shared fixtures of the inode cache's race tests.
#ifndef NFSWALK_TESTS_RACE_INODE_RACE_H_
#define NFSWALK_TESTS_RACE_INODE_RACE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "nfsclient/icache/iget_family.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/inode_caches.h"
#include "tests/fixtures/interleavings.h"

namespace nfswalk::icache {

// A cache of the policy under test, and operations by key.
class InodeRace : public testing::TestWithParam<InodePolicy> {
 protected:
  ~InodeRace() override { rcu::SyncPointScript::ClearAll(); }

  InodeRef LookupRcu(uint64_t key) {
    return cache_.Ilookup5Rcu(cache_.HashOf(key), KeyIdentity(key));
  }
  InodeRef LookupLocked(uint64_t key) { return caches_.Find(key); }
  IgetResult Iget5Rcu(uint64_t key) {
    KeyIdentity identity(key);
    return cache_.Iget5Rcu(cache_.HashOf(key), identity);
  }
  // An inode that is evicted with its last reference.
  InodeRef GetDoomed(uint64_t key) {
    InodeRef inode = caches_.Get(key);
    MarkDontCache(*inode);
    return inode;
  }
  // An inode for a file of this key to be created; not yet inserted.
  InodeRef Fresh(uint64_t key) {
    InodeRef inode = cache_.NewInode();
    inode->fileid = key;
    return inode;
  }
  // Returns the inode hashed, with kNew and kCreating.
  InodeRef Creating(uint64_t key) {
    InodeRef inode = Fresh(key);
    EXPECT_EQ(cache_.InsertLocked(*inode), std::errc{});
    return inode;
  }
  // A new inode of this key in the chain of key 7.
  IgetResult GetInChain(InodeIdentity& identity) { return cache_.Iget5Rcu(kHash, identity); }
  InodeRef GetInChain(uint64_t key) {
    KeyIdentity identity(key);
    InodeRef inode = std::move(GetInChain(identity)->inode);
    cache_.UnlockNew(*inode);
    return inode;
  }
  // Inserts until the table has doubled and begins to grow again. Its keys are not used by the
  // tests.
  void GrowTable() {
    CountAt growths("hash_table:growth-started");
    for (uint64_t key = 1000; growths.count() < 2; ++key) caches_.Get(key);
  }
  size_t Iterated() {
    size_t visited = 0;
    EXPECT_EQ(cache_.IterInodes({},
                                [&](Inode&) {
                                  ++visited;
                                  return IterStep::kNext;
                                }),
              std::errc{});
    return visited;
  }

  InodeCaches caches_{GetParam()};
  IgetFamily& cache_ = *caches_.cache;
  const uint64_t kHash = cache_.HashOf(7);
};
class InodeRaceUnderRcu : public InodeRace {};
class InodeRaceWithChainLocks : public InodeRace {};
class InodeRaceWithBoth : public InodeRace {};
class InodeRaceOfLists : public InodeRace {};
class InodeRaceOfLruShards : public InodeRace {};
class InodeRaceDeathTest : public InodeRace {};
// Adds a second superblock, `theirs_`.
class InodeRaceOfTwoSuperblocks : public InodeRace {
 protected:
  InodeCaches theirs_{InodeCacheOptions{.policy = GetParam(), .share_table_with = &cache_}};
};

// An inode that a thread of its own evicts, stopped while it is dying and hashed.
class DyingInode {
 public:
  explicit DyingInode(InodeRef inode)
      : inode_(std::move(inode)), evictor_([this] { inode_ = {}; }) {
    EXPECT_TRUE(dying_.Reached(evictor_));
  }
  void LetGo() { dying_.LetGo(); }
  // Returns once the inode is evicted.
  void Evict() {
    LetGo();
    evictor_.Join();
  }

 private:
  InodeRef inode_;
  StopAt dying_{"evict:before-unhash"};
  Actor evictor_;
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_TESTS_RACE_INODE_RACE_H_
