#include "rcu/page_region.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
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

size_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  size_t mapped = 0, resident = 0;
  file >> mapped >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// A huge page that is used in part costs a large cache little, and would cost a small one much.
TEST(PageRegion, SlabsTakeNoMoreMemoryThanThemselvesBelowEightMegabytesAndAHugePageMoreBeyond) {
  constexpr size_t kSlab = 64 * 1024, kMegabyte = size_t{1} << 20;
  struct Row {
    size_t mapped, unused_max;
  };
  for (const auto& [mapped, unused_max] :
       {Row{7 * kMegabyte, 0}, Row{33 * kMegabyte, 2 * kMegabyte}}) {
    std::vector<char*> slabs;
    slabs.reserve(mapped / kSlab);
    const size_t before = ResidentBytes();
    while (PageRegion::mapped_bytes() < mapped) {
      slabs.push_back(static_cast<char*>(PageRegion::Map(kSlab, kSlab)));
      ASSERT_NE(slabs.back(), nullptr);
    }
    const size_t noise = kMegabyte / 2;
    EXPECT_LE(ResidentBytes() - before, slabs.size() * kSlab + unused_max + noise) << mapped;
    for (char* const slab : slabs) PageRegion::Unmap(slab);
  }
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
