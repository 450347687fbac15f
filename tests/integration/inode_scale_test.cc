// inode_scale as a user runs it: on its own directories, and on a real nfs-ganesha.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "tests/fixtures/ganesha_server.h"
#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

using fixtures::GaneshaServer;
using testing::HasSubstr;

constexpr const char* kBench = "inode_scale";

TEST(InodeScaleTest, EveryWorkloadHasARowForEachPolicyNumberOfThreadsAndFillTime) {
  const BenchmarkRun run =
      RunBenchmark(kBench, {"--policies", "H0+L0+U0,H2+L1+U0,H8+L3+U1", "--threads", "1,2",
                            "--files", "500", "--repetitions", "1", "--fill-ns", "0,1000"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.facts["files_per_thread"], 500);
  EXPECT_EQ(run.totals["interrupted"], false);
  std::set<std::string> seen, holds;
  for (const Json& row : run.rows) {
    ExpectTimesOrReason(row);
    if (row.contains("hold")) {
      holds.insert(row["hold"]);
      continue;
    }
    const std::string policy = row["policy"], workload = row["workload"];
    const int threads = row["threads"], fill_ns = row["fill_ns"];
    seen.insert(policy + workload + std::to_string(threads) + "+" + std::to_string(fill_ns));
    const int visits = workload == "warm" ? 20 : 1;
    EXPECT_EQ(row["inodes"], threads * visits * (fill_ns == 0 ? 500 : 50)) << row;
    if (workload != "bulkstat") continue;
    EXPECT_EQ(row["global_acq_per_inode"], policy == "H0+L0+U0" ? 5 : 0) << row;
  }
  EXPECT_EQ(seen.size(), 7u * 3 * 2 * 2);
  EXPECT_EQ(run.rows.size(), seen.size() + holds.size());
  holds.erase("transfer");  // not on one processor
  EXPECT_EQ(holds, (std::set<std::string>{"hash_find", "hash_insert", "hash_unhash", "list"}));
}

TEST(InodeScaleTest, OnAServerOfItsOwnTheClientDoesTheSame) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  const BenchmarkRun run =
      RunBenchmark(kBench, {"--policies", "H0+L0+U0,H8+L3+U1", "--threads", "2", "--files", "20",
                            "--repetitions", "1", "--server"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.rows.size(), 7u * 2);
  for (const Json& row : run.rows) ExpectTimesOrReason(row);
  EXPECT_THAT(run.facts["server"].get<std::string>(), HasSubstr("nfs-ganesha"));
}

// On a server that outlives the run, which ends early.
class InodeScaleOnAGivenServer : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
    auto server = GaneshaServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }

  // Starts a run and returns once it has begun to work.
  StartedBenchmark StartRun(const std::string& options = "") {
    const GaneshaServer::NetworkScope scope(*server_);
    StartedBenchmark run(kBench, {"--policies", "H3+L1+U1", "--threads", "1", "--files", "20",
                                  "--repetitions", "1000", "--server", server_->Url(options)});
    while (std::filesystem::is_empty(server_->backing_directory())) std::this_thread::yield();
    return run;
  }

  std::unique_ptr<GaneshaServer> server_;
};

TEST_F(InodeScaleOnAGivenServer, InterruptedRunRemovesItsDirectory) {
  StartedBenchmark run = StartRun();
  kill(run.pid(), SIGINT);
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(ended.totals["interrupted"], true);
  EXPECT_TRUE(std::filesystem::is_empty(server_->backing_directory()));
}

TEST_F(InodeScaleOnAGivenServer, ServerThatDiesEndsTheRunWithAnError) {
  StartedBenchmark run = StartRun("soft&timeo=1&retrans=1");
  server_->Kill();
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("inode_scale: "));
  EXPECT_TRUE(ended.totals.is_null());
}

TEST(InodeScaleTest, BadArgumentsAreRefusedByName) {
  ExpectRefused(kBench, {{"--policies", "H9+L0+U0"},
                         {"--policies", "H3+L1"},
                         {"--policies", "H1+L3+U0"},
                         {"--workloads", "dance"},
                         {"--threads", "0"},
                         {"--files", "0"},
                         {"--load", "65"},
                         {"--fill-ns", "-1"},
                         {"stray"}});
  EXPECT_THAT(RunBenchmark(kBench, {"--policies", "H1+L3+U0"}).err, HasSubstr("use H8+L3"));
}

TEST(InodeScaleTest, FileThatCannotBeWrittenIsNamed) {
  const BenchmarkRun run = RunBenchmark(kBench, {"--quick", "--json", "/nowhere/rows.jsonl"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("/nowhere/rows.jsonl"));
}

}  // namespace
}  // namespace nfswalk
