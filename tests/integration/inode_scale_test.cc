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

std::string JsonFile() { return testing::TempDir() + "/rows.json"; }

Json Rows() { return Json::parse(std::ifstream(JsonFile())); }

TEST(InodeScaleTest, EveryWorkloadHasARowForEachPolicyAndNumberOfThreads) {
  const ProgramRun run = RunProgram(
      kBinary, {"--policies", "H0+L0+U0,H2+L1+U0,H8+L3+U1", "--threads", "1,2", "--files", "500",
                "--repetitions", "1", "--fill-ns", "0", "--json", JsonFile()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::set<std::string> seen;
  for (const Json& row : Rows()) {
    seen.insert(row["workload"].get<std::string>() + row["hash"].get<std::string>() +
                std::to_string(row["threads"].get<int>()));
    EXPECT_GT(row["inodes_per_s"], 0) << row;
    if (row["workload"] != "bulkstat") continue;
    const std::string bundle = row["hash"].get<std::string>() + row["list"].get<std::string>();
    EXPECT_EQ(row["global_acq_per_inode"], bundle == "H0L0" ? 5 : 0) << row;
  }
  EXPECT_EQ(seen.size(), 7u * 3 * 2);
  EXPECT_EQ(Rows().size(), seen.size());
  EXPECT_THAT(run.out, HasSubstr("SIMULATED, not measured"));
  EXPECT_THAT(run.out, HasSubstr("Simulated over measured time"));
}

TEST(InodeScaleTest, OnAServerOfItsOwnTheClientDoesTheSame) {
  const ProgramRun run =
      RunProgram(kBinary, {"--server", "--policies", "H0+L0+U0,H8+L3+U1", "--threads", "2",
                           "--files", "20", "--repetitions", "1", "--json", JsonFile()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Rows().size(), 7u * 2);
  EXPECT_THAT(run.out, HasSubstr("these times contain the server"));
}

TEST(InodeScaleTest, BadArgumentsNameTheValueAndEndWithTwo) {
  const ProgramRun policy = RunProgram(kBinary, {"--policies", "H9+L0+U0"});
  EXPECT_EQ(policy.exit_code, 2);
  EXPECT_THAT(policy.err, HasSubstr("H9"));
  const ProgramRun workload = RunProgram(kBinary, {"--workloads", "dance"});
  EXPECT_EQ(workload.exit_code, 2);
  EXPECT_THAT(workload.err, HasSubstr("dance"));
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
