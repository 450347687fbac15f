#include "bench/cold_walk/options.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace nfswalk::bench {
namespace {

std::variant<ColdOptions, int> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "cold_walk");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseColdOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(ColdWalkOptions, WithoutArgumentsTheFiguresToReachAreMeasured) {
  const auto options = std::get<ColdOptions>(Parse({}));
  EXPECT_EQ(options.files, 100'000u);
  EXPECT_EQ(options.threads, (std::vector<size_t>{1, 4}));
  EXPECT_EQ(options.server, "");
  EXPECT_EQ(options.json_file, "");
}

TEST(ColdWalkOptions, EveryOptionArrives) {
  const auto options = std::get<ColdOptions>(
      Parse({"--files", "7", "--threads", "2,3", "--repetitions", "4", "--libnfs-one-in", "5",
             "--server", "nfs://h/e", "--json", "f"}));
  EXPECT_EQ(options.files, 7u);
  EXPECT_EQ(options.threads, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(options.repetitions, 4u);
  EXPECT_EQ(options.libnfs_one_in, 5u);
  EXPECT_EQ(options.server, "nfs://h/e");
  EXPECT_EQ(options.json_file, "f");
}

TEST(ColdWalkOptions, WhatCannotBeRunIsRefusedWithTwo) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--files", "0"},
           {"--threads", "0"},
           {"--threads", "1,x"},
           {"--repetitions", "0"},
           {"--libnfs-one-in", "0"},
           {"--bogus"},
           {"stray"},
       }) {
    testing::internal::CaptureStderr();
    const auto parsed = Parse(wrong);
    EXPECT_NE(testing::internal::GetCapturedStderr(), "") << testing::PrintToString(wrong);
    const int* code = std::get_if<int>(&parsed);
    EXPECT_TRUE(code != nullptr && *code == 2) << testing::PrintToString(wrong);
  }
}

TEST(ColdWalkOptions, HelpIsNoFailure) {
  testing::internal::CaptureStdout();
  const auto parsed = Parse({"--help"});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("--libnfs-one-in"), std::string::npos);
  const int* code = std::get_if<int>(&parsed);
  EXPECT_TRUE(code != nullptr && *code == 0);
}

}  // namespace
}  // namespace nfswalk::bench
