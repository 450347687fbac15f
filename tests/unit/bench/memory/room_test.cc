#include "bench/memory/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace nfswalk::bench {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

TEST(RoomTest, AvailableMemoryIsReadInKilobytesWhereverItsLineStands) {
  EXPECT_EQ(AvailableBytesIn("MemTotal:  9 kB\nMemFree:  8 kB\nMemAvailable:  7 kB\n"), 7u * 1024);
  EXPECT_FALSE(AvailableBytesIn("MemTotal:  9 kB\n"));
  EXPECT_GT(*AvailableBytes(), 0u);
}

TEST(RoomTest, WhatDoesNotFitIsRefusedByItsSizeWithOneThatDoes) {
  constexpr std::array<uint64_t, 2> kSizes = {1'000'000, 10'000'000};
  EXPECT_EQ(NoRoomFor(kSizes, 12 * kGibibyte), "");
  const std::string refusal = NoRoomFor(kSizes, 4 * kGibibyte);
  EXPECT_THAT(refusal, HasSubstr("10000000"));
  EXPECT_THAT(refusal, HasSubstr("8.2 GiB"));
  const size_t advice = refusal.find("--files-max ");
  ASSERT_NE(advice, refusal.npos);
  const std::array<uint64_t, 2> advised = {1'000'000, std::stoull(refusal.substr(advice + 12))};
  EXPECT_EQ(NoRoomFor(advised, 4 * kGibibyte), "");
}

}  // namespace
}  // namespace nfswalk::bench
