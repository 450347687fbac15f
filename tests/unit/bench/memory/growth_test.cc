#include "bench/memory/growth.h"

#include <gtest/gtest.h>

#include "bench/memory/proc_bytes.h"

namespace nfswalk::bench {
namespace {

TEST(ProcBytesTest, SizeIsReadInKilobytesWhereverItsLineStands) {
  EXPECT_EQ(BytesIn("5500-7fff ---p 00000000 00:00 0  [rollup]\nRss:  12 kB\nPss:  3 kB\n", "Rss:"),
            12u * 1024);
  EXPECT_EQ(BytesIn("MemFree:  8 kB\nMemAvailable:  7 kB\n", "MemAvailable:"), 7u * 1024);
  EXPECT_FALSE(BytesIn("Pss:  3 kB\n", "Rss:"));
  EXPECT_GT(*ProcBytes("/proc/meminfo", "MemAvailable:"), 0u);
  EXPECT_NE(ProcBytes("/proc/none", "Rss:").error().find("/proc/none"), std::string::npos);
}

TEST(GrowthTest, MoreFilesTakeMoreMemory) {
  const auto few = ResidentGrowth(SyntheticTree(2000, false));
  const auto many = ResidentGrowth(SyntheticTree(20'000, false));
  ASSERT_TRUE(few && many);
  // A file is at least a name, a handle and its attributes.
  EXPECT_GT(*many - *few, 18'000u * 128);
}

}  // namespace
}  // namespace nfswalk::bench
