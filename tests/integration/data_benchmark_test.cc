// bench/data at its smallest: which rows there are, and what is counted in them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

// Returns what a row is about, without its subject and version.
std::string WorkOf(const Json& row) {
  std::string work = row["work"];
  if (row["round_trip_ms"] != 0) work += " 1 ms";
  if (work == "write" || work == "read") work += " " + row["files"].dump();
  if (work == "random") work += " " + row["in_flight"].dump();
  return work;
}

using Subjects = std::multiset<std::string>;

TEST(DataBenchmark, HasARowForEachWorkSubjectAndVersion) {
  if (geteuid() != 0) GTEST_SKIP() << "nfs-ganesha needs root";
  const BenchmarkRun run =
      RunBenchmark("data", {"--mebibytes", "4", "--random-reads", "64", "--small-files", "5",
                            "--names", "10", "--tree-files", "30", "--repetitions", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.totals["interrupted"], false);
  std::map<std::string, Subjects> of_version, local;
  for (const Json& row : run.rows) {
    ExpectTimesOrReason(row);
    const std::string subject = row["subject"], protocol = row["protocol"];
    (protocol == "-" ? local : of_version)[WorkOf(row)].insert(protocol + " " + subject);
  }
  const auto of_each = [](const Subjects& subjects) {
    Subjects all;
    for (const std::string& subject : subjects) all.insert({"v3 " + subject, "v4 " + subject});
    return all;
  };
  const Subjects sequential = of_each({"nfswalk", "libnfs sync", "libnfs async", "raw calls",
                                       "raw calls", "raw calls"}),
                 deep = of_each({"nfswalk", "libnfs async", "raw calls"}),
                 commands = of_each({"nfswalk", "nfs-cat"}), copies = of_each({"nfswalk"}),
                 stats = of_each({"nfswalk batch", "nfswalk batch nordirplus", "nfswalk single",
                                  "nfswalk single nordirplus"});
  const std::map<std::string, Subjects> expected = {
      {"write 1", sequential},
      {"write 4", sequential},
      {"read 1", sequential},
      {"read 4", sequential},
      {"random 1", of_each({"nfswalk", "libnfs sync", "raw calls"})},
      {"random 16", deep},
      {"random 64", deep},
      {"create", of_each({"nfswalk", "libnfs sync"})},
      {"cat", commands},
      {"cat 1 ms", commands},
      {"cp to", copies},
      {"cp from", copies},
      {"cp to 1 ms", copies},
      {"cp from 1 ms", copies},
      {"find", copies},
      {"du", copies},
      {"chmod -R", copies},
      {"rm -r", copies},
      {"stat", stats},
      {"stat 1 ms", stats},
      {"stream", copies}};
  EXPECT_EQ(of_version, expected);
  std::set<std::string> local_works;
  for (const auto& [work, subjects] : local) {
    EXPECT_EQ(subjects, Subjects{"- kernel, tmpfs"}) << work;
    local_works.insert(work);
  }
  EXPECT_EQ(local_works, (std::set<std::string>{"write 1", "write 4", "read 1", "read 4",
                                                "random 1", "create", "cp to"}));
}

TEST(DataBenchmark, CountsTheCallsOfASmallFile) {
  if (geteuid() != 0) GTEST_SKIP() << "nfs-ganesha needs root";
  const BenchmarkRun run = RunBenchmark(
      "data", {"--works", "create", "--mebibytes", "4", "--random-reads", "64", "--small-files",
               "20", "--names", "1", "--tree-files", "1", "--repetitions", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::map<std::string, double> rpcs;
  for (const Json& row : run.rows) {
    if (row["subject"] == "nfswalk") rpcs[row["protocol"]] = row["rpcs_per_op"];
  }
  ASSERT_EQ(rpcs.size(), 2u);
  // CREATE, SETATTR and WRITE; OPEN, WRITE and CLOSE.
  EXPECT_LE(rpcs["v3"], 4.5);
  EXPECT_LE(rpcs["v4"], 4.5);
}

TEST(DataBenchmark, ABaselineTakesTurnsAtTheSameTreesWithTheSameCalls) {
  if (geteuid() != 0) GTEST_SKIP() << "nfs-ganesha needs root";
  const std::string built = std::filesystem::absolute("nfsclient/cli/nfswalk");
  const BenchmarkRun run = RunBenchmark(
      "data", {"--works", "cp to,cp from,find,du,chmod -R,rm -r", "--mebibytes", "4",
               "--random-reads", "64", "--small-files", "1", "--names", "1", "--tree-files", "60",
               "--repetitions", "1", "--baseline", built});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::map<std::string, std::map<std::string, double>> rpcs;
  for (const Json& row : run.rows) {
    if (row["protocol"] == "-" || row["round_trip_ms"] != 0) continue;
    rpcs[WorkOf(row) + " " + std::string(row["protocol"])][row["subject"]] = row["rpcs_per_op"];
  }
  EXPECT_EQ(rpcs.size(), 12u);
  for (auto& [work, of] : rpcs) {
    EXPECT_EQ(of.size(), 2u) << work;
    EXPECT_GT(of["nfswalk"], 0) << work;
    // Threads may miss the same name or rights at the same time.
    EXPECT_NEAR(of["nfswalk"], of["baseline"], 0.6) << work;
  }
}

}  // namespace
}  // namespace nfswalk
