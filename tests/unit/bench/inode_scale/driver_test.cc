#include "bench/inode_scale/driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "bench/inode_scale/summary.h"

namespace nfswalk::bench {
namespace {

icache::InodePolicy Policy(const std::string& label) { return *icache::ParseInodePolicy(label); }

// Every policy with every workload, as small as it gets.
Plan SmallPlan() {
  Plan plan;
  for (const char* label : {"H0+L0+U0", "H1+L0+U0", "H2+L0+U0", "H2+L1+U1", "H3+L1+U1", "H4+L1+U1",
                            "H5+L1+U1", "H6+L1+U1", "H7+L1+U1", "H8+L1+U1", "H8+L3+U1"}) {
    plan.policies.push_back(Policy(label));
  }
  plan.workloads.assign(std::begin(kAllWorkloads), std::end(kAllWorkloads));
  plan.threads = {1, 2};
  plan.files_per_thread = 200;
  plan.repetitions = 2;
  return plan;
}

TEST(InodeScaleDriver, RunsEveryWorkloadOverEveryPolicyAndCountsGlobalLocksExactly) {
  const Plan plan = SmallPlan();
  const std::map<std::string, uint64_t> streamed = {
      {"H0+L0+U0", 5}, {"H1+L0+U0", 4}, {"H2+L0+U0", 2}};
  const std::atomic<bool> stop{false};
  size_t timings = 0;
  const auto ran = RunPlan(
      plan,
      [&](const Timing& timing) {
        ++timings;
        EXPECT_GT(timing.time.seconds, 0);
        EXPECT_EQ(timing.inodes,
                  timing.threads * plan.files_per_thread * VisitsOf(timing.workload));
        if (timing.workload != Workload::kBulkstat) return;
        const auto expected = streamed.find(PolicyLabel(timing.policy));
        EXPECT_EQ(timing.global_acquisitions,
                  expected == streamed.end() ? 0 : expected->second * timing.inodes)
            << PolicyLabel(timing.policy);
      },
      stop);
  EXPECT_TRUE(ran.has_value());
  EXPECT_EQ(timings,
            plan.policies.size() * plan.workloads.size() * plan.threads.size() * plan.repetitions);
}

TEST(InodeScaleDriver, StopsBetweenTwoTimings) {
  std::atomic<bool> stop{false};
  size_t timings = 0;
  const auto ran = RunPlan(
      SmallPlan(),
      [&](const Timing&) {
        ++timings;
        stop = true;
      },
      stop);
  EXPECT_TRUE(ran.has_value());
  EXPECT_EQ(timings, 1u);
}

Timing Took(double seconds, size_t threads, double cpu_share = 1) {
  return {.workload = Workload::kWalk,
          .policy = Policy("H3+L1+U1"),
          .threads = threads,
          .time = {.seconds = seconds, .cpu_share = cpu_share},
          .inodes = 1000 * threads,
          .global_acquisitions = 500 * threads};
}

TEST(InodeScaleSummary, ARowHasTheMedianAndTheRangeOfItsRepetitions) {
  Summary summary(/*fill_ns=*/7, /*processors=*/2);
  for (const double seconds : {0.5, 0.1, 0.2}) summary.Add(Took(seconds, 1));
  const auto rows = summary.Rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(BundleOf(rows[0]), "H3+L1+U1");
  EXPECT_EQ(rows[0].workload, "walk");
  EXPECT_EQ(rows[0].fill_ns, 7u);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 0.2);
  EXPECT_DOUBLE_EQ(rows[0].seconds_min, 0.1);
  EXPECT_DOUBLE_EQ(rows[0].seconds_max, 0.5);
  EXPECT_DOUBLE_EQ(rows[0].inodes_per_s, 5000);
  EXPECT_DOUBLE_EQ(rows[0].global_acq_per_inode, 0.5);
  EXPECT_DOUBLE_EQ(rows[0].efficiency, 1);
}

TEST(InodeScaleSummary, EfficiencyIsAgainstOneThreadOfTheSamePolicy) {
  Summary summary(/*fill_ns=*/0, /*processors=*/2);
  summary.Add(Took(0.1, 1));
  summary.Add(Took(0.125, 2));
  summary.Add(Took(0.4, 4));
  const auto rows = summary.Rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_DOUBLE_EQ(rows[1].efficiency, 0.8);
  EXPECT_DOUBLE_EQ(rows[2].efficiency, 0.5);
}

TEST(InodeScaleSummary, TimingsOfABusyMachineAreToldButNotThoseOfMoreThreadsThanProcessors) {
  Summary summary(/*fill_ns=*/0, /*processors=*/2);
  summary.Add(Took(0.1, 2, 0.99));
  summary.Add(Took(0.1, 2, 0.5));
  summary.Add(Took(0.1, 4, 0.5));
  EXPECT_EQ(summary.timings(), 3u);
  EXPECT_EQ(summary.disturbed(), 1u);
}

}  // namespace
}  // namespace nfswalk::bench
