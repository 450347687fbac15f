#include "bench/shared_lines/options.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nfswalk::bench {
namespace {

std::variant<SharedLinesOptions, int> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "shared_lines");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseSharedLinesOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(SharedLinesOptionsTest, WithoutArgumentsEachPolicyOfTheLettersRunsUpTo64Threads) {
  const auto options = Parse({});
  ASSERT_TRUE(std::holds_alternative<SharedLinesOptions>(options));
  const auto& chosen = std::get<SharedLinesOptions>(options);
  EXPECT_EQ(chosen.policies.size(), 12u);
  EXPECT_EQ(chosen.threads.back(), 64u);
  EXPECT_TRUE(chosen.json_file.empty());
}

TEST(SharedLinesOptionsTest, ListsAreSeparatedByCommas) {
  const auto options = Parse({"--policies", "H0+L0+U0,H3+L1+U1", "--workloads", "fstree,warm",
                              "--threads", "2,3", "--json", "rows.json"});
  ASSERT_TRUE(std::holds_alternative<SharedLinesOptions>(options));
  const auto& chosen = std::get<SharedLinesOptions>(options);
  ASSERT_EQ(chosen.policies.size(), 2u);
  EXPECT_EQ(icache::PolicyLabel(chosen.policies[1]), "H3+L1+U1");
  EXPECT_EQ(chosen.workloads, (std::vector{Workload::kFstree, Workload::kWarm}));
  EXPECT_EQ(chosen.threads, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(chosen.json_file, "rows.json");
}

TEST(SharedLinesOptionsTest, WhatCannotBeReplayedIsRefusedNamingWhatCan) {
  for (const auto& [option, value, reason] : {std::tuple{"--workloads", "chmod", "dirty"},
                                              {"--workloads", "swim", "bulkstat"},
                                              {"--policies", "H9+L0+U0", "bit_rcu"},
                                              {"--threads", "65", "64"},
                                              {"--threads", "0", "1"}}) {
    testing::internal::CaptureStderr();
    const auto options = Parse({option, value});
    EXPECT_NE(testing::internal::GetCapturedStderr().find(reason), std::string::npos) << value;
    EXPECT_EQ(std::get<int>(options), 2) << value;
  }
}

TEST(SharedLinesOptionsTest, HelpIsNoError) { EXPECT_EQ(std::get<int>(Parse({"--help"})), 0); }

}  // namespace
}  // namespace nfswalk::bench
