#include "bench/inode_scale/plan.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/terminal.h"

namespace nfswalk::bench {
namespace {

using Json = nlohmann::json;

constexpr Turn kUndisturbed = {.ops = 100, .seconds = 1e-6, .share = 1};
constexpr Turn kDisturbed = {.ops = 100, .seconds = 5e-6, .share = 0.9};

icache::InodePolicy Policy(const std::string& label) { return *icache::ParseInodePolicy(label); }

Plan PlanOf(const std::vector<std::string>& labels, std::vector<Workload> workloads) {
  Plan plan;
  for (const std::string& label : labels) plan.policies.push_back(Policy(label));
  plan.workloads = std::move(workloads);
  plan.threads = {1, 2};
  plan.files_per_thread = 200;
  plan.repetitions = 2;
  return plan;
}

// Returns the rows that RunPlan() writes, those between the first line and the last.
std::vector<Json> RowsOf(const Plan& plan, const TakeTurns& take_turns) {
  const std::string file = testing::TempDir() + "/plan.jsonl";
  auto writer = RowWriter::Open("inode_scale", file, Row());
  EXPECT_TRUE(writer.has_value());
  const Outcome ran = RunPlan(plan, take_turns, *writer);
  EXPECT_TRUE(ran.has_value()) << ran.error();
  EXPECT_TRUE(writer->Close(Row()).has_value());
  std::vector<Json> rows;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (Json row = Json::parse(line); row.contains("workload")) rows.push_back(std::move(row));
  }
  return rows;
}

TEST(SyntheticTurns, EveryWorkloadRunsOverEveryPolicyAndGlobalLocksAreCountedExactly) {
  const Plan plan =
      PlanOf({"H0+L0+U0", "H1+L0+U0", "H2+L0+U0", "H2+L1+U1", "H3+L1+U1", "H4+L1+U1", "H5+L1+U1",
              "H6+L1+U1", "H7+L1+U1", "H8+L1+U1", "H8+L3+U1"},
             {Workload::kCreate, Workload::kWalk, Workload::kChmod, Workload::kUnlink,
              Workload::kBulkstat, Workload::kFstree, Workload::kWarm, Workload::kPressure});
  const std::map<std::string, uint64_t> streamed = {
      {"H0+L0+U0", 5}, {"H1+L0+U0", 4}, {"H2+L0+U0", 2}};
  for (const icache::InodePolicy& policy : plan.policies) {
    for (const size_t threads : plan.threads) {
      SCOPED_TRACE(icache::PolicyLabel(policy));
      std::vector<Workload> taken;
      const Outcome ran =
          SyntheticTurns(plan)(policy, threads, plan.workloads, [&](const WorkloadTurn& turn) {
            taken.push_back(turn.workload);
            EXPECT_GT(turn.turn.seconds, 0);
            EXPECT_EQ(turn.turn.ops, threads * plan.files_per_thread * VisitsOf(turn.workload));
            if (turn.workload != Workload::kBulkstat) return;
            const auto expected = streamed.find(icache::PolicyLabel(policy));
            EXPECT_EQ(turn.global_acquisitions,
                      expected == streamed.end() ? 0 : expected->second * turn.turn.ops);
          });
      EXPECT_TRUE(ran.has_value());
      EXPECT_EQ(taken, plan.workloads);
    }
  }
}

TEST(SyntheticTurns, UnderPressureMissesAloneTakeTheHashLockWhereTheFirstLookupIsUnderRcu) {
  const struct {
    const char* policy;
    Keys keys;
    uint64_t of_hit, of_miss;  // acquisitions of the hash lock most often taken
  } rows[] = {
      {"H0+L1+U1", Keys::kSpread, 1, 3},   {"H1+L1+U1", Keys::kSpread, 0, 2},
      {"H1+L1+U1", Keys::kStrided, 0, 2},  {"H5+L1+U1", Keys::kOneLock, 1, 3},
      {"H6+L1+U1", Keys::kOneLock, 0, 2},  {"H6+L1+U1", Keys::kOneChain, 0, 2},
      {"H3+L1+U1", Keys::kOneChain, 0, 0},  // not counted: a bit of each head
  };
  for (const auto& [label, keys, of_hit, of_miss] : rows) {
    for (const uint64_t hit_percent : {0, 50, 100}) {
      SCOPED_TRACE(label + std::to_string(hit_percent) + "%, " +
                   std::string(kKeysNames[static_cast<size_t>(keys)]));
      Plan plan = PlanOf({label}, {Workload::kPressure});
      plan.files_per_thread = 100;
      plan.hit_percent = hit_percent;
      plan.work.keys = keys;
      const Outcome ran =
          SyntheticTurns(plan)(plan.policies[0], 1, plan.workloads, [&](const WorkloadTurn& taken) {
            const uint64_t hits = taken.turn.hits, misses = taken.turn.ops - hits;
            // An eviction may come with a later miss, after second chances alone.
            const uint64_t expected = hits * of_hit + misses * of_miss;
            EXPECT_LE(taken.hash_acquisitions, expected);
            EXPECT_GE(taken.hash_acquisitions, expected * 99 / 100);
            EXPECT_NEAR(static_cast<double>(hits) / static_cast<double>(taken.turn.ops),
                        static_cast<double>(hit_percent) / 100, hit_percent == 50 ? 0.02 : 0);
          });
      EXPECT_TRUE(ran.has_value());
    }
  }
}

TEST(SyntheticTurns, KeysChosenWithoutTheSeedReachAllLocks) {
  for (const Keys keys : {Keys::kSpread, Keys::kStrided}) {
    Plan plan = PlanOf({"H6+L1+U1"}, {Workload::kPressure});
    plan.work.keys = keys;
    const Outcome ran =
        SyntheticTurns(plan)(plan.policies[0], 1, plan.workloads, [](const WorkloadTurn& taken) {
          EXPECT_LT(taken.hash_acquisitions, taken.turn.ops * 4 * 2 / icache::kArrayLocks);
        });
    EXPECT_TRUE(ran.has_value());
  }
}

TEST(RunPlan, EveryNumberOfThreadsPolicyAndWorkloadHasARow) {
  const Plan plan = PlanOf({"H0+L0+U0", "H3+L1+U1"}, {Workload::kWalk, Workload::kWarm});
  const auto rows = RowsOf(plan, SyntheticTurns(plan));
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0]["policy"], "H0+L0+U0");
  EXPECT_EQ(rows[0]["workload"], "walk");
  EXPECT_EQ(rows[0]["inodes"], 200);
  EXPECT_EQ(rows[0]["global_acq_per_inode"], 4);
  EXPECT_EQ(rows[7]["policy"], "H3+L1+U1");
  EXPECT_EQ(rows[7]["workload"], "warm");
  EXPECT_EQ(rows[7]["threads"], 2);
  EXPECT_EQ(rows[7]["inodes"], 2 * 200 * 20);
}

TEST(RunPlan, OnlyDisturbedTurnsAreTakenAgainAndNeverCounted) {
  const Plan plan = PlanOf({"H3+L1+U1"}, {Workload::kWalk, Workload::kChmod, Workload::kUnlink});
  std::map<std::pair<size_t, Workload>, int> turns;
  const auto rows =
      RowsOf(plan,
             [&](const icache::InodePolicy&, size_t threads, std::span<const Workload> workloads,
                 const ReportTurn& report) -> Outcome {
               for (const Workload workload : workloads) {
                 const int turn = ++turns[{threads, workload}];
                 const bool calm =
                     workload == Workload::kWalk || (workload == Workload::kUnlink && turn > 1);
                 report({workload, calm ? kUndisturbed : kDisturbed, /*global_acquisitions=*/300});
               }
               return {};
             });
  EXPECT_EQ((turns[{1, Workload::kWalk}]), 2);
  EXPECT_EQ((turns[{1, Workload::kChmod}]), 4);
  EXPECT_EQ((turns[{2, Workload::kUnlink}]), 3);
  ASSERT_EQ(rows.size(), 6u);
  const Json &walk = rows[0], &chmod = rows[1], &unlink = rows[2];
  EXPECT_EQ(walk["ns_per_op"], 10);
  EXPECT_EQ(walk["repeated"], 0);
  EXPECT_EQ(unlink["ns_max"], 10);
  EXPECT_EQ(unlink["repeated"], 1);
  EXPECT_TRUE(chmod.contains("disturbed"));
  EXPECT_FALSE(chmod.contains("ns_per_op"));
  EXPECT_EQ(chmod["global_acq_per_inode"], 3) << "counts need no quiet machine";
}

TEST(RunPlan, PoliciesTakeTurnsInEveryRound) {
  const Plan plan = PlanOf({"H0+L0+U0", "H3+L1+U1"}, {Workload::kWalk});
  std::vector<std::string> order;
  RowsOf(plan,
         [&](const icache::InodePolicy& policy, size_t threads, std::span<const Workload>,
             const ReportTurn& report) -> Outcome {
           order.push_back(icache::PolicyLabel(policy.hash).data() + std::to_string(threads));
           report({Workload::kWalk, kUndisturbed, 0});
           return {};
         });
  EXPECT_EQ(order,
            (std::vector<std::string>{"H01", "H31", "H02", "H32", "H01", "H31", "H02", "H32"}));
}

TEST(RunPlan, ErrorEndsTheRun) {
  auto writer = RowWriter::Open("inode_scale", testing::TempDir() + "/error.jsonl", Row());
  ASSERT_TRUE(writer.has_value());
  int calls = 0;
  const auto fail = [&](auto&&...) -> Outcome {
    ++calls;
    return std::unexpected("no such policy");
  };
  EXPECT_EQ(RunPlan(PlanOf({"H0+L0+U0"}, {Workload::kWalk}), fail, *writer).error(),
            "no such policy");
  EXPECT_EQ(calls, 1);
}

// In a process of its own, whose last rows stay unwritten.
void InterruptAfterFirstTurn() {
  CatchInterrupts();
  const Plan plan = PlanOf({"H0+L0+U0"}, {Workload::kWalk, Workload::kWarm});
  int turns = 0;
  const auto rows =
      RowsOf(plan, [&](const icache::InodePolicy& policy, size_t threads,
                       std::span<const Workload> workloads, const ReportTurn& report) {
        return SyntheticTurns(plan)(policy, threads, workloads, [&](const WorkloadTurn& turn) {
          report(turn);
          ++turns;
          std::raise(SIGINT);
        });
      });
  _exit(turns == 1 && rows.empty() ? 0 : 1);
}

TEST(RunPlanDeathTest, InterruptEndsTheRunBetweenTwoTurns) {
  EXPECT_EXIT(InterruptAfterFirstTurn(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nfswalk::bench
