#include "bench/measure/team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <set>
#include <vector>

namespace nfswalk::bench {
namespace {

TEST(Team, AllThreadsWorkAtTheSameTimeOnceAllArePrepared) {
  constexpr size_t kThreads = 4;
  std::latch all(kThreads);
  std::atomic<size_t> prepared = 0;
  std::vector<size_t> prepared_before(kThreads);
  const auto time = RunTeam(
      kThreads, Placement::kAnywhere,
      [&](size_t thread) {
        prepared_before[thread] = prepared;
        all.arrive_and_wait();  // ends only if all are there
        return Outcome();
      },
      [&](size_t) {
        ++prepared;
        return Outcome();
      });
  ASSERT_TRUE(time) << time.error();
  EXPECT_EQ(prepared_before, std::vector<size_t>(kThreads, kThreads));
}

TEST(Team, ErrorOfOneThreadIsTheOutcome) {
  const auto time = RunTeam(3, Placement::kPinned, [](size_t thread) -> Outcome {
    if (thread == 1) return std::unexpected("lost");
    return {};
  });
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error(), "lost");
}

TEST(Team, NobodyWorksWhereAPreparationFails) {
  std::atomic<int> worked = 0;
  const auto time = RunTeam(
      3, Placement::kPinned,
      [&](size_t) {
        ++worked;
        return Outcome();
      },
      [](size_t thread) -> Outcome {
        if (thread == 2) return std::unexpected("cannot mount");
        return {};
      });
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error(), "cannot mount");
  EXPECT_EQ(worked, 0);
}

TEST(Team, PinnedThreadsStayOnAProcessorEach) {
  std::vector<int> allowed(Processors());
  ASSERT_TRUE(RunTeam(Processors(), Placement::kPinned, [&](size_t thread) -> Outcome {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    allowed[thread] = CPU_COUNT(&set) == 1 ? sched_getcpu() : -1;
    return {};
  }));
  EXPECT_EQ(std::set<int>(allowed.begin(), allowed.end()).size(), allowed.size());
  EXPECT_EQ(std::count(allowed.begin(), allowed.end(), -1), 0);
}

double ThreadCpuSeconds() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void Burn(double cpu_seconds) {
  const double end = ThreadCpuSeconds() + cpu_seconds;
  while (ThreadCpuSeconds() < end) {
  }
}

TEST(Team, ThreadThatWaitsHasNoShare) {
  std::latch worked(1);
  const auto time = RunTeam(2, Placement::kAnywhere, [&](size_t thread) {
    if (thread == 0) Burn(0.03);
    if (thread == 0) worked.count_down();
    worked.wait();
    return Outcome();
  });
  ASSERT_TRUE(time) << time.error();
  EXPECT_GE(time->seconds, 0.03);
  EXPECT_GT(time->share, 0);
  EXPECT_LT(time->share, Processors() > 1 ? 0.8 : 1.1);
}

TEST(Team, PreparationHasNoPartInTheProcessorTime) {
  const auto time = RunTeam(
      1, Placement::kAnywhere, [](size_t) { return Outcome(); },
      [](size_t) {
        Burn(0.03);
        return Outcome();
      });
  ASSERT_TRUE(time) << time.error();
  EXPECT_LE(time->share * time->seconds, 0.02);
}

}  // namespace
}  // namespace nfswalk::bench
