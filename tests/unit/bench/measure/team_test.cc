#include "bench/measure/team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace nfswalk::bench {
namespace {

Outcome Nothing(size_t) { return {}; }

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

TEST(Team, ThreadsThatSleepHaveASmallShareAndPreparationHasNoPartInTheTime) {
  using std::chrono::milliseconds;
  const auto sleep = [](milliseconds time) {
    return [time](size_t) {
      std::this_thread::sleep_for(time);
      return Outcome();
    };
  };
  const auto time =
      RunTeam(2, Placement::kAnywhere, sleep(milliseconds(30)), sleep(milliseconds(200)));
  ASSERT_TRUE(time) << time.error();
  EXPECT_GE(time->seconds, 0.03);
  EXPECT_LT(time->share, 0.5);
  EXPECT_GE(RunTeam(1, Placement::kAnywhere, Nothing)->share, 0);
}

}  // namespace
}  // namespace nfswalk::bench
