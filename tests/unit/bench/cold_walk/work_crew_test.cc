#include "bench/cold_walk/work_crew.h"

#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

TEST(WorkCrewTest, AllSharesAreWorkedOnAtTheSameTime) {
  constexpr size_t kThreads = 4;
  std::latch all(kThreads);
  std::vector<int> done(kThreads);
  const auto seconds = RunCrew(kThreads, [&](size_t thread) {
    all.arrive_and_wait();  // ends only if everybody is there
    ++done[thread];
    return std::string();
  });
  ASSERT_TRUE(seconds.has_value());
  EXPECT_GE(*seconds, 0);
  EXPECT_EQ(done, std::vector<int>(kThreads, 1));
}

TEST(WorkCrewTest, WhatOneSaysWentWrongIsTheOutcome) {
  const auto seconds =
      RunCrew(3, [](size_t thread) { return std::string(thread == 1 ? "lost" : ""); });
  ASSERT_FALSE(seconds.has_value());
  EXPECT_EQ(seconds.error(), "lost");
}

}  // namespace
}  // namespace nfswalk::bench
