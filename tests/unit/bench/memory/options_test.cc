#include "bench/memory/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace nfswalk::bench {
namespace {

using testing::ElementsAre;

std::variant<MemoryOptions, int> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "memory");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseMemoryOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(MemoryOptionsTest, WithoutArgumentsTheCacheGrowsByTensUpToTenMillion) {
  const auto options = std::get<MemoryOptions>(Parse({}));
  EXPECT_THAT(CacheSizes(options), ElementsAre(1000, 10'000, 100'000, 1'000'000, 10'000'000));
  EXPECT_THAT(GrowthSizes(options), ElementsAre(100'000, 1'000'000));
}

TEST(MemoryOptionsTest, ALargestCacheBetweenTwoPowersOfTenIsTheLastOne) {
  const auto options = std::get<MemoryOptions>(Parse({"--files-max", "20000"}));
  EXPECT_THAT(CacheSizes(options), ElementsAre(1000, 10'000, 20'000));
  EXPECT_THAT(GrowthSizes(options), ElementsAre(20'000));
}

TEST(MemoryOptionsTest, AQuickRunIsShorterExceptWhereItIsTold) {
  const auto quick = std::get<MemoryOptions>(Parse({"--turn-ms", "9", "--quick"}));
  EXPECT_LT(quick.files_max, MemoryOptions().files_max);
  EXPECT_LT(quick.repetitions, MemoryOptions().repetitions);
  EXPECT_EQ(quick.turn_ms, 9u);
}

TEST(MemoryOptionsTest, WhatCannotBeRunIsRefusedWithTwo) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--files-max", "999"}, {"--hot", "0"}, {"--turn-ms", "0"}, {"--threads"}, {"stray"}}) {
    testing::internal::CaptureStderr();
    const auto parsed = Parse(wrong);
    const std::string message = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(std::holds_alternative<int>(parsed)) << wrong[0];
    EXPECT_EQ(std::get<int>(parsed), 2) << wrong[0];
    EXPECT_NE(message.find(wrong.back()), message.npos) << message;
  }
}

}  // namespace
}  // namespace nfswalk::bench
