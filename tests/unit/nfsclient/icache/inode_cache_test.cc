#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "nfsclient/icache/iget_family.h"
#include "tests/fixtures/inode_caches.h"

namespace nfswalk::icache {
namespace {

class InodeCacheTest : public testing::TestWithParam<InodePolicy> {
 protected:
  InodeCaches caches_{GetParam()};
  IgetFamily& cache_ = *caches_.cache;
};

INSTANTIATE_TEST_SUITE_P(Policies, InodeCacheTest, testing::ValuesIn(AllInodePolicies()),
                         InodePolicyTestName);

TEST_P(InodeCacheTest, OneKeyIsOneInode) {
  InodeRef first = caches_.Get(7);
  InodeRef again = caches_.Get(7);
  EXPECT_EQ(first.get(), again.get());
  EXPECT_NE(caches_.Get(8).get(), first.get());
  EXPECT_EQ(cache_.size(), 2u);
}

TEST_P(InodeCacheTest, AnUnhashedInodeIsReplacedAndGoesWithItsLastReference) {
  InodeRef first = caches_.Get(7);
  cache_.Unhash(*first);
  InodeRef fresh = caches_.Get(7);
  EXPECT_NE(first.get(), fresh.get());
  first = {};
  EXPECT_EQ(cache_.size(), 1u);
}

// INODE-2.
TEST_P(InodeCacheTest, AnInodeTheServerForgotIsNotGivenOutAgain) {
  InodeRef stale = caches_.Get(7);
  stale->flags.store(kStale);
  EXPECT_NE(caches_.Get(7).get(), stale.get());
}

TEST_P(InodeCacheTest, AnUnusedInodeStaysUntilItIsPruned) {
  Inode* const inode = caches_.Get(7).get();
  EXPECT_EQ(cache_.unused(), 1u);
  EXPECT_EQ(caches_.Find(7).get(), inode);
  EXPECT_EQ(cache_.Prune(10), 0u) << "it was used again: a second chance";
  EXPECT_EQ(cache_.Prune(10), 1u);
  EXPECT_FALSE(caches_.Find(7));
}

TEST_P(InodeCacheTest, IterationVisitsEveryInodeOnce) {
  for (uint64_t key = 1; key <= 1000; ++key) caches_.Get(key);
  std::multiset<uint64_t> seen;
  EXPECT_EQ(cache_.IterInodes({},
                              [&](Inode& inode) {
                                seen.insert(inode.fileid);
                                return IterStep::kNext;
                              }),
            std::errc{});
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(std::set<uint64_t>(seen.begin(), seen.end()).size(), 1000u);
}

}  // namespace
}  // namespace nfswalk::icache
