// inode_race: shared fixtures of the inode cache's race tests.
#ifndef NFSWALK_TESTS_RACE_INODE_RACE_H_
#define NFSWALK_TESTS_RACE_INODE_RACE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/icache/iget_family.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/inode_caches.h"
#include "tests/race/interleavings.h"

namespace nfswalk::icache {

inline std::vector<InodePolicy> InodePoliciesWhere(bool (*fits)(HashPolicy)) {
  std::vector<InodePolicy> all = AllInodePolicies();
  std::erase_if(all, [&](const InodePolicy& policy) { return !fits(policy.hash); });
  return all;
}
// Policies whose first lookup is lockless.
inline std::vector<InodePolicy> InodePoliciesUnderRcu() {
  return InodePoliciesWhere(&FirstLookupIsRcu);
}
// Policies with chain locks, whose buckets move when the table grows.
inline std::vector<InodePolicy> InodePoliciesWithChainLocks() {
  return InodePoliciesWhere([](HashPolicy hash) { return hash != HashPolicy::kLfht; });
}

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
};

}  // namespace nfswalk::icache

#endif  // NFSWALK_TESTS_RACE_INODE_RACE_H_
