// cold_walk as a user runs it, over a tiny tree: what it counts and how it ends, never how long it
// takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
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

constexpr const char* kBench = "cold_walk";

// The one row of its kind.
const Json& RowOf(const std::vector<Json>& rows, const std::string& subject, const char* protocol,
                  const char* mode, int threads) {
  static const Json none;
  const Json* found = &none;
  for (const Json& row : rows) {
    if (row["subject"] != subject || row["protocol"] != protocol || row["mode"] != mode ||
        row["threads"] != threads) {
      continue;
    }
    EXPECT_EQ(found, &none) << "twice: " << row;
    found = &row;
  }
  EXPECT_NE(found, &none) << subject << " " << protocol << " " << mode << " " << threads;
  return *found;
}

TEST(ColdWalkTest, CountsTheRoundTripsOfEveryWalkOverBothVersions) {
  if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
  constexpr int kFiles = 300;
  const BenchmarkRun run = RunBenchmark(kBench, {"--quick", "--files", "300", "--threads", "1,4",
                                                 "--repetitions", "1", "--libnfs-one-in", "3"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.facts["files"], kFiles);
  EXPECT_EQ(run.totals["interrupted"], false);
  // Five settings by path and three by listing, with two numbers of threads and the raw calls;
  // libnfs by path and by listing; the deep file.
  EXPECT_EQ(run.rows.size(), (5u + 3) * 3 + 2 * 2 * 2 + 3);
  for (const Json& row : run.rows) ExpectTimesOrReason(row);
  const auto of = [&](const std::string& subject, const char* protocol, const char* mode,
                      int threads) { return RowOf(run.rows, subject, protocol, mode, threads); };
  EXPECT_EQ(of("nfswalk nordirplus", "v4", "path", 1)["rpcs"], kFiles) << "one COMPOUND a path";
  EXPECT_GT(of("nfswalk nordirplus", "v3", "path", 1)["rpcs"], kFiles);
  EXPECT_EQ(of("nfswalk", "v4", "deep", 1)["rpcs"], 1);
  EXPECT_EQ(of("nfswalk nocompound", "v4", "deep", 1)["rpcs"], 16);
  EXPECT_EQ(of("libnfs sync", "v3", "path", 4)["rpcs"], kFiles / 3 * 7);
  EXPECT_EQ(of("libnfs sync", "v4", "path", 4)["rpcs"], kFiles / 3);
  for (const char* protocol : {"v3", "v4"}) {
    EXPECT_LT(of("nfswalk", protocol, "path", 1)["rpcs"], kFiles / 4) << "listed ahead";
    EXPECT_EQ(of("libnfs sync", protocol, "find", 1)["files"], kFiles + 1);
    EXPECT_LT(of("libnfs sync", protocol, "find", 1)["rpcs"], kFiles / 4) << "with attributes";
  }
  for (const char* mode : {"path", "find"}) {
    for (const auto& [protocol, suffix] :
         {std::pair{"v3", ""}, {"v4", ""}, {"v4", " nocompound"}}) {
      const Json walk = of(std::string("nfswalk") + suffix, protocol, mode, 1);
      const Json ceiling = of(std::string("raw calls") + suffix, protocol, mode, 1);
      EXPECT_EQ(walk["rpcs"], ceiling["rpcs"]) << walk;
      EXPECT_EQ(walk["files"], ceiling["files"]) << walk;
      EXPECT_EQ(of(std::string("nfswalk") + suffix, protocol, mode, 4)["files"], walk["files"]);
    }
  }
}

// A server that outlives the run, reached by --server.
class ColdWalkOnAGivenServer : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << GaneshaServer::Start().error();
    auto server = GaneshaServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }

  // Starts a long run and returns once it makes its tree, which it does after it has begun to catch
  // signals.
  StartedBenchmark StartRun(const std::string& options = "") {
    const GaneshaServer::NetworkScope scope(*server_);
    StartedBenchmark run(kBench, {"--files", "200", "--repetitions", "1000", "--server",
                                  server_->Url(options, GetParam())});
    while (std::filesystem::is_empty(server_->backing_directory())) std::this_thread::yield();
    return run;
  }

  std::unique_ptr<GaneshaServer> server_;
};

INSTANTIATE_TEST_SUITE_P(Versions, ColdWalkOnAGivenServer, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ColdWalkOnAGivenServer, TreeIsMadeThroughNfsAndRemovedAgain) {
  const GaneshaServer::NetworkScope scope(*server_);
  // Both versions are walked whatever the URL says, so the ports of version 3 belong to it.
  const std::string url =
      "nfs://127.0.0.1:2049/export?mountport=20048&version=" + std::to_string(GetParam());
  const BenchmarkRun run =
      RunBenchmark(kBench, {"--files", "20", "--repetitions", "1", "--server", url});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::is_empty(server_->backing_directory()));
}

TEST_P(ColdWalkOnAGivenServer, InterruptedRunRemovesItsTree) {
  StartedBenchmark run = StartRun();
  kill(run.pid(), SIGINT);
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(ended.totals["interrupted"], true);
  EXPECT_TRUE(std::filesystem::is_empty(server_->backing_directory()));
}

TEST_P(ColdWalkOnAGivenServer, ServerThatDiesEndsTheRunWithAnError) {
  StartedBenchmark run = StartRun("soft&timeo=1&retrans=1");
  server_->Kill();
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("cold_walk: "));
  EXPECT_TRUE(ended.totals.is_null());
}

TEST(ColdWalkTest, ServerThatIsMissingIsNamed) {
  const BenchmarkRun run = RunBenchmark(kBench, {"--server", "nfs://127.0.0.1:1/export?version=4"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("127.0.0.1"));
}

TEST(ColdWalkTest, BadArgumentsAreRefusedByName) {
  ExpectRefused(kBench, {{"--files", "0"},
                         {"--threads", "0"},
                         {"--threads", "x"},
                         {"--repetitions", "0"},
                         {"--libnfs-one-in", "0"},
                         {"--bogus"},
                         {"stray"}});
}

}  // namespace
}  // namespace nfswalk
