#include "bench/inode_scale/scale_row.h"

#include "gtest/gtest.h"

namespace nfswalk::bench {
namespace {

TEST(ScaleRow, ABundleNamesItsThreePolicies) {
  EXPECT_EQ(BundleOf({.workload = "walk", .hash = "H3", .list = "L1", .lru = "U0"}), "H3+L1+U0");
  EXPECT_EQ(BundleOf({.workload = "walk", .hash = "H0", .list = "L0", .lru = "U0"}),
            kBaselineBundle);
}

TEST(Efficiency, AConstantTimeIsIdealUpToTheProcessors) {
  EXPECT_DOUBLE_EQ(Efficiency(3, 3, 1, 2), 1);
  EXPECT_DOUBLE_EQ(Efficiency(3, 3, 2, 2), 1);
  EXPECT_DOUBLE_EQ(Efficiency(3, 4, 2, 2), 0.75);
}

TEST(Efficiency, BeyondTheProcessorsTimeMayGrowWithTheThreads) {
  EXPECT_DOUBLE_EQ(Efficiency(3, 6, 4, 2), 1);
  EXPECT_DOUBLE_EQ(Efficiency(3, 48, 16, 2), 0.5);
}

TEST(Efficiency, IsZeroWithoutATimeOrProcessors) {
  EXPECT_EQ(Efficiency(3, 0, 2, 2), 0);
  EXPECT_EQ(Efficiency(3, 3, 2, 0), 0);
}

}  // namespace
}  // namespace nfswalk::bench
