#include "rcu/page_region.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace nfswalk::rcu {
namespace {

TEST(PageRegion, GivesZeroedMemoryOfTheAskedAlignmentAndCountsIt) {
  const size_t before = PageRegion::mapped_bytes();
  void* const area = PageRegion::Map(100'000, size_t{1} << 20);
  ASSERT_NE(area, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(area) % (size_t{1} << 20), 0u);
  for (size_t i = 0; i < 100'000; ++i) ASSERT_EQ(static_cast<char*>(area)[i], 0);
  EXPECT_GE(PageRegion::mapped_bytes(), before + 100'000);
  PageRegion::Unmap(area);
  EXPECT_EQ(PageRegion::mapped_bytes(), before);
}

TEST(PageRegion, AnswersNullWhenTheSystemRefuses) {
  EXPECT_EQ(PageRegion::Map(size_t{1} << 60, 64), nullptr);
}

TEST(PageRegionDeathTest, AStoreToAFrozenAreaIsFatalAndALoadIsNot) {
  auto* const area = static_cast<volatile char*>(PageRegion::Map(4096, 64));
  area[0] = 1;
  PageRegion::FreezeAll();
  EXPECT_EQ(area[0], 1);
  EXPECT_DEATH(area[0] = 2, "");
  PageRegion::ThawAll();
  area[0] = 3;
  EXPECT_EQ(area[0], 3);
  PageRegion::Unmap(const_cast<char*>(area));
}

}  // namespace
}  // namespace nfswalk::rcu
