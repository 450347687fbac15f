// make_replay as a user runs it, against a real nfs-ganesha.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/ganesha_server.h"
#include "tests/fixtures/protocol_versions.h"
#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

using fixtures::GaneshaServer;
using testing::HasSubstr;

constexpr const char* kBench = "make_replay";
// Relative to the runfiles, where Bazel starts a test.
constexpr const char* kGitPlan = "bench/traces/git-null.plan";
// Calls of git's null make that lie on no device.
constexpr int kCallsOfGit = 16'400;

BenchmarkRun Replay(Arguments arguments) {
  arguments.insert(arguments.begin(), {"--repetitions", "1", "--turn-ms", "20"});
  return RunBenchmark(kBench, std::move(arguments));
}

// The rows of a phase. Expects right answers, and warm ones without an RPC.
std::vector<Json> RowsOf(const BenchmarkRun& run, const std::string& phase) {
  std::vector<Json> rows;
  for (const Json& row : run.rows) {
    if (row.value("phase", "") != phase) continue;
    ExpectTimesOrReason(row);
    EXPECT_EQ(row["mismatches"], 0) << row;
    EXPECT_GT(row["ops"], 0) << row;
    if (phase == "warm") {
      EXPECT_EQ(row["rpcs"], 0) << row;
    }
    if (phase == "warm" && row["mode"] != "ref") {
      for (const Json& exits : row["need_ref"]) EXPECT_EQ(exits, 0) << row;
    }
    rows.push_back(row);
  }
  return rows;
}

std::string WritePlan(const std::string& rest) {
  const std::string file = testing::TempDir() + "/written.plan";
  std::ofstream(file) << "nfswalk-plan 1\ntrace written\ncoverage {}\n" << rest;
  return file;
}

TEST(MakeReplayTest, GitsNullMakeAnswersAsRecordedInEveryModeAndWarmWithoutAnRpc) {
  const BenchmarkRun run =
      Replay({"--plan", kGitPlan, "--threads", "1,2,4,8", "--libnfs-one-in", "20"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(std::string(run.facts["server"]), HasSubstr("nfs-ganesha"));
  EXPECT_EQ(run.rows.at(0)["coverage"]["stat_calls"], 15396);
  EXPECT_GT(run.totals["compared"], 5 * kCallsOfGit);
  EXPECT_EQ(run.totals["differ"], 0);
  const std::vector<Json> cold = RowsOf(run, "cold");
  EXPECT_EQ(cold.size(), 6u);  // four modes, the kernel and libnfs
  for (const Json& row : cold) {
    if (row["subject"] == "libnfs sync") continue;
    EXPECT_GE(row["ops"], kCallsOfGit) << row;
  }
  EXPECT_EQ(RowsOf(run, "warm").size(), 5u * 4);  // without libnfs; four numbers of threads
}

TEST(MakeReplayTest, ShippedTracesAreComparedNearlyToTheLastStatWhereNoPlanIsGiven) {
  const BenchmarkRun run =
      Replay({"--quick", "--threads", "4", "--modes", "ref,rcu-search,kernel"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<std::string> traces;
  for (const Json& row : run.rows) {
    if (!row.contains("coverage")) continue;
    traces.push_back(row["trace"]);
    EXPECT_EQ(row["coverage"]["stat_calls"], row["trace"] == "linux-null" ? 258'705 : 15'396);
  }
  EXPECT_EQ(traces, (std::vector<std::string>{"git-null", "linux-null"}));
  for (const Json& row : RowsOf(run, "cold")) {
    EXPECT_GE(row["ops"], row["trace"] == "linux-null" ? 270'000 : kCallsOfGit) << row;
  }
  EXPECT_EQ(RowsOf(run, "warm").size(), 2 * 3u);
}

TEST(MakeReplayTest, ServerKilledInTheMiddleOfAPassChangesNoAnswer) {
  const BenchmarkRun run = Replay({"--plan", kGitPlan, "--threads", "4", "--modes",
                                   "ref,rcu-search", "--kill-server-after", "2000"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("killed and restarted the server"));
  EXPECT_EQ(run.totals["differ"], 0);
}

TEST(MakeReplayTest, AnswerThatNoServerCanGiveIsReportedAsADifference) {
  // Links have the mode 0777 on Linux, whatever is asked for.
  const std::string plan = WritePlan(
      "node d 755 0 0 0 /\nnode l 700 4 0 0 /odd xxxx\nstring /odd\nlot\n"
      "stat n 0 0 120700 4 1 0\nend 1\n");
  const BenchmarkRun run = Replay({"--plan", plan, "--threads", "1", "--modes", "rcu-search"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("line 1: stat /odd: recorded mode 120700, size 4, got mode "
                                 "120777, size 4"));
  EXPECT_GT(run.totals["differ"], 0);
}

TEST(MakeReplayTest, LineThatIsNoneOfAPlanIsNamed) {
  const BenchmarkRun run = Replay({"--plan", WritePlan("hello\n"), "--modes", "kernel"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("written.plan, line 4: no line of a plan"));
}

TEST(MakeReplayTest, BadArgumentsAreRefusedByName) {
  ExpectRefused(kBench, {{"--plan", "/nowhere"},
                         {"--modes", "rcu"},
                         {"--threads", "0"},
                         {"--turn-ms", "0"},
                         {"--libnfs-one-in", "0"},
                         {"--bogus"},
                         {"stray"}});
}

// A server that outlives the run, reached by --server with the version of NFS to speak.
class GivenServerTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto server = GaneshaServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }
  bool NothingLeftBehind() const { return std::filesystem::is_empty(server_->backing_directory()); }

  // Starts a long run and returns once it makes its tree.
  StartedBenchmark StartRun(const std::string& options = "") {
    const GaneshaServer::NetworkScope scope(*server_);
    StartedBenchmark run(kBench, {"--plan", kGitPlan, "--repetitions", "1000", "--modes",
                                  "rcu-search", "--server", server_->Url(options, GetParam())});
    while (NothingLeftBehind()) std::this_thread::yield();
    return run;
  }

  std::unique_ptr<GaneshaServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Versions, GivenServerTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(GivenServerTest, EveryModeAnswersAsRecordedFromATreeMadeThroughNfsAndRemovedAgain) {
  const GaneshaServer::NetworkScope scope(*server_);
  const BenchmarkRun run =
      Replay({"--plan", kGitPlan, "--threads", "2", "--modes", "ref,rcu-locked,rcu-peek,rcu-search",
              "--server", server_->Url("", GetParam())});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.rows.at(0)["coverage"]["left_out"]["device, FIFO or socket, not made through NFS"],
            2);
  const std::vector<Json> cold = RowsOf(run, "cold");
  EXPECT_EQ(cold.size(), 4u);
  for (const Json& row : cold) EXPECT_GE(row["ops"], kCallsOfGit) << row;
  EXPECT_EQ(RowsOf(run, "warm").size(), 4u);
  EXPECT_TRUE(NothingLeftBehind());
}

TEST_P(GivenServerTest, InterruptedRunRemovesItsTree) {
  StartedBenchmark run = StartRun();
  kill(run.pid(), SIGINT);
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_TRUE(NothingLeftBehind());
}

TEST_P(GivenServerTest, ServerThatDiesEndsTheRunWithAnError) {
  StartedBenchmark run = StartRun("soft&timeo=1&retrans=1");
  server_->Kill();
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("make_replay: "));
}

}  // namespace
}  // namespace nfswalk
