#include "bench/memory/cache_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace nfswalk::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

TEST(CacheSizesTest, CachesGrowByTensUpToTheLargest) {
  EXPECT_THAT(CacheSizes(1000), ElementsAre(1000));
  EXPECT_THAT(CacheSizes(20'000), ElementsAre(1000, 10'000, 20'000));
  EXPECT_THAT(CacheSizes(10'000'000), ElementsAre(1000, 10'000, 100'000, 1'000'000, 10'000'000));
  EXPECT_THAT(GrowthSizes(20'000), ElementsAre(20'000));
  EXPECT_THAT(GrowthSizes(10'000'000), ElementsAre(100'000, 1'000'000));
}

TEST(CacheSizesTest, CachesThatDoNotFitAreRefusedWithALargestOneThatDoes) {
  constexpr std::array<uint64_t, 2> kSizes = {1'000'000, 10'000'000};
  EXPECT_TRUE(CheckMemoryFor(kSizes, 12 * kGibibyte));
  const Outcome refused = CheckMemoryFor(kSizes, 4 * kGibibyte);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("10000000"));
  EXPECT_THAT(refused.error(), HasSubstr("8.2 GiB"));
  const size_t advice = refused.error().find("--files-max ");
  ASSERT_NE(advice, std::string::npos);
  const std::array<uint64_t, 2> advised = {1'000'000,
                                           std::stoull(refused.error().substr(advice + 12))};
  EXPECT_TRUE(CheckMemoryFor(advised, 4 * kGibibyte));
}

}  // namespace
}  // namespace nfswalk::bench
