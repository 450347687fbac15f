#include "bench/warm_stat/options.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace nfswalk::bench {
namespace {

std::variant<WarmOptions, int> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "warm_stat");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseWarmOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(WarmStatOptions, WithoutArgumentsTheFiguresToReachAreMeasured) {
  const auto options = std::get<WarmOptions>(Parse({}));
  EXPECT_EQ(options.random_files, 1'000'000u);
  EXPECT_EQ(options.threads, (std::vector<size_t>{1, 2, 4}));
}

TEST(WarmStatOptions, AQuickRunIsShorterExceptWhereItIsTold) {
  const auto quick = std::get<WarmOptions>(Parse({"--turn-ms", "9", "--quick"}));
  EXPECT_LT(quick.random_files, WarmOptions().random_files);
  EXPECT_LT(quick.repetitions, WarmOptions().repetitions);
  EXPECT_EQ(quick.turn_ms, 9u);
}

TEST(WarmStatOptions, WhatCannotBeRunIsRefusedWithTwo) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--files", "0"}, {"--threads", "x"}, {"--turn-ms", "0"}, {"--bogus"}, {"stray"}}) {
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
