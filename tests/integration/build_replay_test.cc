// A small build as make_replay makes it, over a real server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "tests/fixtures/nfs_server.h"
#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

using testing::HasSubstr;

// A compiler makes a file that a make waits for, uses and removes.
constexpr const char* kBuild =
    "node d 755 0 0 0 /\nnode d 755 0 0 0 /d\nnode f 644 3 0 0 /d/old\nnode f 600 9 0 0 /gone\n"
    "string /d/new\nstring /d/tmp\nstring /d/old\nstring /e\nstring /e/link\nstring /e/name\n"
    "string ../d/new\nstring /gone\n"
    "process\n"
    "stat - 2 0 0 - - - - 1 0\n"
    "stat - 0 0 100755 12 1 5.6000 1:5 7 0\n"
    "mkdir - 0 0 750 - - - - 8 3\n"
    "mkdir - 17 0 750 - - - - 9 3\n"
    "symlink n 0 0 777 - - - - 10 4 6\n"
    "readlink n 0 0 0 - - - - 11 4 6\n"
    "open - 0 4 0 - - - - 12 4\n"
    "link n 0 0 0 - - - - 13 0 5\n"
    "stat - 0 0 100755 12 2 - - 14 5\n"
    "rmdir n 39 0 0 - - - - 15 3\n"
    "unlink n 0 0 0 - - - - 16 5\n"
    "unlink n 0 0 0 - - - - 17 4\n"
    "rmdir n 0 0 0 - - - - 18 3\n"
    "unlink n 0 0 0 - - - - 19 0\n"
    "process\n"
    "create x 0 0 600 - - - - 2 1\n"
    "truncate - 0 0 0 12 - - - 3 1\n"
    "chmod - 0 0 755 - - - - 4 1\n"
    "utimes - 0 0 0 - - 5.6000 - 5 1\n"
    "rename n 0 0 0 - - - 0:1 6 1 0\n"
    "stat - 2 0 0 - - - 0:14 20 0\n"
    "create - 0 0 644 - - - - 21 2\n"
    "open - 0 2 0 - - - - 22 2\n"
    "truncate - 0 0 0 0 - - - 23 2\n"
    "stat - 0 0 100644 0 - - - 24 2\n"
    "process\n"
    "rename n 0 0 0 - - - 1:10 25 7 2\n"
    "stat - 2 0 0 - - - - 26 7\n"
    "create x 17 0 644 - - - - 27 2\n";

std::string WriteBuildPlan(const std::string& rest) {
  const std::string file = testing::TempDir() + "/build.plan";
  std::ofstream(file) << "nfswalk-build-plan 1\ntrace build\ncoverage {}\n" << rest;
  return file;
}

BenchmarkRun Replay(Strings arguments) { return RunBenchmark("make_replay", std::move(arguments)); }

class BuildReplay : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << fixtures::NfsServer::Start().error();
  }
};

TEST_F(BuildReplay, AnswersAsRecordedInEveryMode) {
  // Fewer threads than processes, as many, more.
  for (const char* threads : {"1", "3", "4"}) {
    const BenchmarkRun run = Replay({"--plan", WriteBuildPlan(kBuild + std::string("end 27\n")),
                                     "--threads", threads, "--libnfs-one-in", "1"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.totals["differ"], 0);
    EXPECT_EQ(run.totals["others_differ"], 0) << run.err;
    std::set<std::string> modes;
    for (const Json& row : run.rows) {
      if (!row.contains("phase")) continue;
      EXPECT_EQ(row["phase"], "build") << row;
      EXPECT_EQ(row["mismatches"], 0) << row;
      ExpectTimesOrReason(row);
      const std::string subject = row["subject"], mode = row["mode"];
      modes.insert(subject == "nfswalk" ? mode : subject);
      if (subject != "libnfs sync") {
        EXPECT_EQ(row["ops"], 27) << row;
      }
      if (subject == "nfswalk") {
        EXPECT_GT(row["rpcs"], 15) << row;
      }
    }
    EXPECT_EQ(modes, (std::set<std::string>{"ref", "rcu-locked", "rcu-peek", "rcu-search", "v3-cto",
                                            "v4-ref", "v4-rcu-locked", "v4-rcu-peek", "v4-nocto",
                                            "v4-cto", "kernel, tmpfs", "libnfs sync"}));
  }
}

TEST_F(BuildReplay, ShowsWhatIsAnsweredOtherwise) {
  const std::string plan = WriteBuildPlan(
      "node d 755 0 0 0 /\nnode f 644 3 0 0 /f\nstring /f\nstring /g\nprocess\n"
      "link n 0 0 0 - - - - 1 0 1\nstat - 0 0 100644 3 1 7.8 - 2 0\nend 2\n");
  const BenchmarkRun run = Replay({"--plan", plan, "--threads", "1", "--modes", "rcu-search"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("nfswalk rcu-search differs: line 2: stat /f: recorded mode "
                                 "100644, size 3, got mode 100644, size 3; links 1, got 2; "
                                 "modified 7.000000008, got "));
  EXPECT_GT(run.totals["differ"], 0);
}

TEST_F(BuildReplay, RefusesAPlanWhoseCallsWaitForOneAnother) {
  const std::string plan = WriteBuildPlan(
      "node d 755 0 0 0 /\nstring /f\nprocess\nstat - 2 0 0 - - - 1:1 1 0\nprocess\n"
      "stat - 2 0 0 - - - 0:1 2 0\nend 2\n");
  const BenchmarkRun run = Replay({"--plan", plan, "--threads", "2", "--modes", "kernel"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("build: the plan's calls wait for one another"));
}

}  // namespace
}  // namespace nfswalk
