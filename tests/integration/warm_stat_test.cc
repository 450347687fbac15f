// warm_stat as a user runs it, over a tiny tree: which rows there are and how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include "tests/fixtures/ganesha_server.h"
#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

using fixtures::GaneshaServer;
using testing::HasSubstr;

constexpr const char* kBench = "warm_stat";

TEST(WarmStatTest, EverySubjectTakesEveryCourseAndAnswersRight) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  const BenchmarkRun run = RunBenchmark(kBench, {"--quick", "--files", "200", "--repetitions", "1",
                                                 "--turn-ms", "1", "--threads", "1,2"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.facts["files"], 200);
  EXPECT_EQ(run.totals["interrupted"], false);
  std::map<std::tuple<std::string, std::string, int>, int> courses;
  for (const Json& row : run.rows) {
    ++courses[{row["subject"], row["mode"], row["identities"]}];
    ExpectTimesOrReason(row);
  }
  // Nine courses, with one thread and with two; one of them also as four identities.
  for (const char* mode : {"ref", "rcu-locked", "rcu-peek", "nopathcache", "rcu-search"}) {
    EXPECT_EQ((courses[{"nfswalk", mode, 1}]), 9 * 2) << mode;
    EXPECT_EQ((courses[{"nfswalk", mode, 4}]), 1 * 2) << mode;
  }
  EXPECT_EQ((courses[{"kernel, tmpfs", "-", 1}]), 9 * 2);
  EXPECT_EQ((courses[{"libnfs sync", "-", 1}]), 9 * 2);
  EXPECT_EQ(courses.size(), 12u);
}

// On a server that outlives the run, which ends early.
class WarmStatOnAGivenServer : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
    auto server = GaneshaServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }

  // Starts a run and returns once it makes its tree, which it does after it has begun to catch
  // signals.
  StartedBenchmark StartRun(const std::string& options = "") {
    const GaneshaServer::NetworkScope scope(*server_);
    StartedBenchmark run(kBench, {"--files", "20", "--repetitions", "1000", "--threads", "1",
                                  "--turn-ms", "1", "--server", server_->Url(options)});
    while (std::filesystem::is_empty(server_->backing_directory())) std::this_thread::yield();
    return run;
  }

  std::unique_ptr<GaneshaServer> server_;
};

TEST_F(WarmStatOnAGivenServer, InterruptedRunRemovesItsTree) {
  StartedBenchmark run = StartRun();
  kill(run.pid(), SIGINT);
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(ended.totals["interrupted"], true);
  EXPECT_TRUE(std::filesystem::is_empty(server_->backing_directory()));
}

TEST_F(WarmStatOnAGivenServer, ServerThatDiesEndsTheRunWithAnError) {
  StartedBenchmark run = StartRun("soft&timeo=1&retrans=1");
  server_->Kill();
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("warm_stat: "));
  EXPECT_TRUE(ended.totals.is_null());
}

TEST(WarmStatTest, ServerThatIsMissingIsNamed) {
  const BenchmarkRun run =
      RunBenchmark(kBench, {"--server", "nfs://127.0.0.1/none?nfsport=1&version=4"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("127.0.0.1"));
}

TEST(WarmStatTest, BadArgumentsAreRefusedByName) {
  ExpectRefused(kBench, {{"--files", "0"},
                         {"--threads", "x"},
                         {"--threads", "257"},
                         {"--turn-ms", "0"},
                         {"--repetitions", "1001"},
                         {"--bogus"},
                         {"stray"}});
}

}  // namespace
}  // namespace nfswalk
