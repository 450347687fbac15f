// Reclaim and last references when the LRU has several shards.
#include <gtest/gtest.h>

#include <utility>

#include "tests/race/inode_race.h"

namespace nfswalk::icache {
namespace {

#ifndef NDEBUG
using InodeLruRace = InodeRace;

// With a single list the second thread could only wait for the first.
INSTANTIATE_TEST_SUITE_P(ShardedLru, InodeLruRace,
                         testing::Values(InodePolicy{HashPolicy::kBitRcu, ListPolicy::kSharded,
                                                     LruPolicy::kSharded}),
                         InodePolicyTestName);

// Reclaim has unlinked an inode in use; before it continues, another thread drops the reference and
// adds the inode to another shard.
TEST_P(InodeLruRace, AnInodePutBackWhileReclaimTakesItOffIsInOneShard) {
  caches_.Get(7);
  InodeRef user = caches_.Get(7);
  OnceAt("lru:judged", [&] { Elsewhere([&] { user = {}; }); });
  EXPECT_EQ(cache_.Prune(1), 0u);
  EXPECT_FALSE(user);
  EXPECT_EQ(cache_.unused(), 1u);
  EXPECT_EQ(cache_.Prune(1), 1u);
  EXPECT_EQ(cache_.unused(), 0u);
}
#endif

}  // namespace
}  // namespace nfswalk::icache
