#include "bench/memory/growth.h"

#include <gtest/gtest.h>

#include <atomic>

namespace nfswalk::bench {
namespace {

const std::atomic<bool> kGoOn{false};

TEST(GrowthTest, TheResidentSizeIsTheOneOfTheWholeProcess) {
  EXPECT_EQ(ResidentBytesIn("5500-7fff ---p 00000000 00:00 0  [rollup]\n"
                            "Rss:  12 kB\nPss:  3 kB\n"),
            12u * 1024);
  EXPECT_FALSE(ResidentBytesIn("Pss:  3 kB\n"));
}

TEST(GrowthTest, MoreFilesTakeMoreMemory) {
  const auto few = ResidentGrowth(SyntheticTree(2000, false), kGoOn);
  const auto many = ResidentGrowth(SyntheticTree(20'000, false), kGoOn);
  ASSERT_TRUE(few && many);
  // A file is at least a name, a handle and its attributes.
  EXPECT_GT(*many - *few, 18'000u * 128);
}

}  // namespace
}  // namespace nfswalk::bench
