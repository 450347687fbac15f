#include "rcu/page_region.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

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

// Beyond a few megabytes, slabs are parts of larger areas: still zeroed, aligned and disjoint.
TEST(PageRegion, GivesManySlabsThatDoNotOverlapAndTakesThemBackInAnyOrder) {
  constexpr size_t kSlab = 64 * 1024;
  constexpr size_t kSlabs = 200;
  const size_t before = PageRegion::mapped_bytes();
  std::vector<char*> slabs;
  for (int round = 0; round < 2; ++round) {
    while (slabs.size() < kSlabs) {
      auto* const slab = static_cast<char*>(PageRegion::Map(kSlab, kSlab));
      ASSERT_NE(slab, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(slab) % kSlab, 0u);
      ASSERT_EQ(std::count(slab, slab + kSlab, 0), ptrdiff_t{kSlab});
      std::memset(slab, 1 + static_cast<int>(slabs.size()), kSlab);
      slabs.push_back(slab);
    }
    EXPECT_EQ(PageRegion::mapped_bytes(), before + kSlabs * kSlab);
    std::ranges::shuffle(slabs, std::mt19937(1));
    for (; slabs.size() > kSlabs / 2; slabs.pop_back()) PageRegion::Unmap(slabs.back());
  }
  std::ranges::sort(slabs);
  for (size_t i = 1; i < slabs.size(); ++i) EXPECT_GE(slabs[i] - slabs[i - 1], ptrdiff_t{kSlab});
  for (char* const slab : slabs) {
    EXPECT_EQ(slab[0], slab[kSlab - 1]);
    PageRegion::Unmap(slab);
  }
  EXPECT_EQ(PageRegion::mapped_bytes(), before);
}

// Only the slabs in use of the last huge page are resident.
TEST(PageRegion, TheFirstSlabOfAHugePageTakesNoMoreMemoryThanItself) {
  constexpr size_t kSlab = 64 * 1024, kHugePage = size_t{2} << 20;
  std::vector<char*> slabs;
  do {
    slabs.push_back(static_cast<char*>(PageRegion::Map(kSlab, kSlab)));
    ASSERT_NE(slabs.back(), nullptr);
    ASSERT_LT(slabs.size(), 400u);
  } while (PageRegion::mapped_bytes() < 2 * kHugePage + kSlab ||
           reinterpret_cast<uintptr_t>(slabs.back()) % kHugePage != 0);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((kHugePage - kSlab) / page);
  ASSERT_EQ(mincore(slabs.back() + kSlab, kHugePage - kSlab, resident.data()), 0);
  EXPECT_TRUE(std::ranges::none_of(resident, [](unsigned char bits) { return (bits & 1) != 0; }));
  for (char* const slab : slabs) PageRegion::Unmap(slab);
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
