// inode_scale as a user runs it: on its own directories, and on a real nfs-ganesha.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/fixtures/program_run.h"

namespace nfswalk {
namespace {

using fixtures::ProgramRun;
using fixtures::RunProgram;
using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kBinary = "bench/inode_scale/inode_scale";

std::string JsonFile() { return testing::TempDir() + "/rows.jsonl"; }

// What a run has written. Rows of workloads and of hold times have times, or the reason why not.
struct Written {
  Json facts, totals;
  std::vector<Json> workloads, holds;
};
Written Read() {
  Written written;
  std::ifstream lines(JsonFile());
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line);
    EXPECT_EQ(row["bench"], "inode_scale");
    if (row.contains("facts")) written.facts = row["facts"];
    if (row.contains("totals")) written.totals = row["totals"];
    if (!row.contains("workload") && !row.contains("hold")) continue;
    (row.contains("hold") ? written.holds : written.workloads).push_back(row);
    EXPECT_TRUE(row.contains("disturbed") || row["ns_per_op"] > 0) << row;
  }
  EXPECT_TRUE(written.totals.is_object()) << "the last line is missing";
  return written;
}

TEST(InodeScaleTest, EveryWorkloadHasARowForEachPolicyNumberOfThreadsAndFillTime) {
  const ProgramRun run = RunProgram(
      kBinary, {"--policies", "H0+L0+U0,H2+L1+U0,H8+L3+U1", "--threads", "1,2", "--files", "500",
                "--repetitions", "1", "--fill-ns", "0,1000", "--json", JsonFile()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Written written = Read();
  EXPECT_EQ(written.facts["files_per_thread"], 500);
  std::set<std::string> seen;
  for (const Json& row : written.workloads) {
    const std::string policy = row["policy"], workload = row["workload"];
    const int threads = row["threads"], fill_ns = row["fill_ns"];
    seen.insert(policy + workload + std::to_string(threads) + "+" + std::to_string(fill_ns));
    const int visits = workload == "warm" ? 20 : 1;
    EXPECT_EQ(row["inodes"], threads * visits * (fill_ns == 0 ? 500 : 50)) << row;
    if (workload != "bulkstat") continue;
    EXPECT_EQ(row["global_acq_per_inode"], policy == "H0+L0+U0" ? 5 : 0) << row;
  }
  EXPECT_EQ(seen.size(), 7u * 3 * 2 * 2);
  EXPECT_EQ(written.workloads.size(), seen.size());
  std::set<std::string> holds;
  for (const Json& row : written.holds) holds.insert(row["hold"]);
  holds.erase("transfer");  // not on one processor
  EXPECT_EQ(holds, (std::set<std::string>{"hash_find", "hash_insert", "hash_unhash", "list"}));
}

TEST(InodeScaleTest, OnAServerOfItsOwnTheClientDoesTheSame) {
  const ProgramRun run =
      RunProgram(kBinary, {"--server", "--policies", "H0+L0+U0,H8+L3+U1", "--threads", "2",
                           "--files", "20", "--repetitions", "1", "--json", JsonFile()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Written written = Read();
  EXPECT_EQ(written.workloads.size(), 7u * 2);
  EXPECT_TRUE(written.holds.empty());
  EXPECT_THAT(written.facts["server"].get<std::string>(), HasSubstr("nfs-ganesha"));
}

TEST(InodeScaleTest, BadArgumentsAreRefusedByName) {
  const std::vector<std::vector<std::string>> cases = {
      {"--policies", "H9+L0+U0", "\"H9+L0+U0\": hash policy must be one of"},
      {"--policies", "H3+L1", "H3+L1+U1"},
      {"--policies", "H1+L3+U0", "use H8+L3"},
      {"--workloads", "dance", "'dance' is not known: accepted are create"},
      {"--threads", "0", "--threads"},
      {"--files", "0", "--files"},
      {"--load", "65", "--load"},
      {"--fill-ns", "-1", "--fill-ns"}};
  for (const auto& refused : cases) {
    const ProgramRun run = RunProgram(kBinary, {refused[0], refused[1]});
    EXPECT_EQ(run.exit_code, 2) << refused[1];
    EXPECT_THAT(run.err, HasSubstr(refused[2]));
  }
}

TEST(InodeScaleTest, AFileThatCannotBeWrittenIsAnError) {
  const ProgramRun run =
      RunProgram(kBinary, {"--policies", "H3+L1+U0", "--threads", "1", "--files", "10",
                           "--repetitions", "1", "--fill-ns", "0", "--json", "/nowhere/rows.json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("/nowhere/rows.json"));
}

}  // namespace
}  // namespace nfswalk
