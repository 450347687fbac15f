#include "nfsclient/cli/human_size.h"

#include <gtest/gtest.h>

namespace nfswalk::cli {
namespace {

TEST(HumanSize, BytesHaveNoLetter) {
  EXPECT_EQ(HumanSize(0), "0");
  EXPECT_EQ(HumanSize(1023), "1023");
}

TEST(HumanSize, IsRoundedUpNeverDown) {
  EXPECT_EQ(HumanSize(1024), "1.0K");
  EXPECT_EQ(HumanSize(1025), "1.1K");
  EXPECT_EQ(HumanSize(10 * 1024 - 1), "10K");
  EXPECT_EQ(HumanSize(10 * 1024 + 1), "11K");
  EXPECT_EQ(HumanSize(1023 * 1024), "1023K");
  EXPECT_EQ(HumanSize(1023 * 1024 + 1), "1.0M");
  EXPECT_EQ(HumanSize((uint64_t{3} << 30) + 1), "3.1G");
}

TEST(HumanSize, TheLargestNumberFits) { EXPECT_EQ(HumanSize(UINT64_MAX), "16E"); }

TEST(Kibibytes, AByteMoreIsABlockMore) {
  EXPECT_EQ(Kibibytes(0), 0u);
  EXPECT_EQ(Kibibytes(1024), 1u);
  EXPECT_EQ(Kibibytes(1025), 2u);
  EXPECT_EQ(Kibibytes(UINT64_MAX), uint64_t{1} << 54);
}

}  // namespace
}  // namespace nfswalk::cli
