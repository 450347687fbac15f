#include "bench/inode_scale/options.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace nfswalk::bench {
namespace {

std::variant<ScaleOptions, int> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "inode_scale");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseScaleOptions(static_cast<int>(argv.size()), argv.data());
}

ScaleOptions Accepted(std::vector<std::string> arguments) {
  auto parsed = Parse(std::move(arguments));
  if (const int* code = std::get_if<int>(&parsed)) {
    ADD_FAILURE() << "exit " << *code;
    return {};
  }
  return std::get<ScaleOptions>(std::move(parsed));
}

// The message of a refusal, whose exit code must be 2.
std::string Refused(std::vector<std::string> arguments) {
  testing::internal::CaptureStderr();
  const auto parsed = Parse(std::move(arguments));
  std::string message = testing::internal::GetCapturedStderr();
  const int* code = std::get_if<int>(&parsed);
  EXPECT_TRUE(code != nullptr && *code == 2) << message;
  return message;
}

TEST(InodeScaleOptions, ARunHasAPlanForEachFillTimeWithFewerFilesWhereFillingTakesTime) {
  const ScaleOptions options = Accepted({"--files", "1000"});
  ASSERT_EQ(options.plans.size(), 3u);
  EXPECT_EQ(options.plans[0].work.fill_ns, 0u);
  EXPECT_EQ(options.plans[0].files_per_thread, 1000u);
  EXPECT_EQ(options.plans[1].work.fill_ns, 1000u);
  EXPECT_EQ(options.plans[1].files_per_thread, 100u);
  EXPECT_EQ(options.plans[2].work.fill_ns, 5000u);
  EXPECT_EQ(options.plans[0].repetitions, 7u);
  EXPECT_EQ(options.plans[0].threads, (std::vector<size_t>{1, 2, 4, 8, 16}));
  EXPECT_FALSE(options.server.has_value());
}

TEST(InodeScaleOptions, QuickIsLessOfEverythingThatWasNotAskedFor) {
  const ScaleOptions options = Accepted({"--quick", "--repetitions", "5"});
  ASSERT_EQ(options.plans.size(), 1u);
  EXPECT_EQ(options.plans[0].threads, (std::vector<size_t>{1, 2, 4}));
  EXPECT_EQ(options.plans[0].repetitions, 5u);
  EXPECT_LT(options.plans[0].files_per_thread, Accepted({}).plans[0].files_per_thread);
}

TEST(InodeScaleOptions, AllPoliciesAreMoreThanTheUsualOnes) {
  EXPECT_GT(Accepted({"--policies", "all"}).plans[0].policies.size(),
            Accepted({}).plans[0].policies.size());
  EXPECT_EQ(Accepted({"--policies", "H3+L1+U1,global+single+single"}).plans[0].policies.size(), 2u);
}

TEST(InodeScaleOptions, TheServerIsOursUnlessOneIsNamed) {
  EXPECT_EQ(Accepted({"--server"}).server, "");
  EXPECT_EQ(Accepted({"--server", "nfs://host/export"}).server, "nfs://host/export");
  EXPECT_EQ(Accepted({"--server"}).plans.size(), 1u);
}

TEST(InodeScaleOptions, WhatIsRefusedIsNamedWithTheWayOut) {
  EXPECT_NE(Refused({"--policies", "H9+L0+U0"}).find("\"H9+L0+U0\": hash policy must be one of"),
            std::string::npos);
  EXPECT_NE(Refused({"--policies", "H3+L1"}).find("H3+L1+U1"), std::string::npos);
  EXPECT_NE(Refused({"--policies", "H1+L3+U0"}).find("use H8+L3"), std::string::npos);
  EXPECT_NE(Refused({"--workloads", "stat"}).find("'stat' is not known"), std::string::npos);
  EXPECT_NE(Refused({"--threads", "0"}).find("--threads"), std::string::npos);
  EXPECT_NE(Refused({"--files", "0"}).find("--files"), std::string::npos);
  EXPECT_NE(Refused({"--load", "65"}).find("--load"), std::string::npos);
  EXPECT_NE(Refused({"--fill-ns", "-1"}).find("--fill-ns"), std::string::npos);
}

}  // namespace
}  // namespace nfswalk::bench
