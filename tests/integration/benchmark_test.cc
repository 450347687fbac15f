// Benchmarks as a user runs them, on a few files: which rows there are, what they count and how a
// run ends, never how long it takes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/measure/libnfs_context.h"
#include "bench/measure/server_export.h"
#include "bench/memory/cache_sizes.h"
#include "bench/memory/proc_bytes.h"
#include "tests/fixtures/nfs_server.h"
#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

using fixtures::NfsServer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Relative to the runfiles, where Bazel starts a test.
constexpr const char* kGitPlan = "bench/traces/git-null.plan";
// Calls of git's null make that lie on no device.
constexpr int kCallsOfGit = 16'400;

std::string WritePlan(const std::string& rest) {
  const std::string file = testing::TempDir() + "/written.plan";
  std::ofstream(file) << "nfswalk-plan 2\ntrace written\ncoverage {}\n" << rest;
  return file;
}

// Benchmarks that start a server of their own need root.
class Benchmark : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << NfsServer::Start().error();
  }
};

// --- inode_scale ---

TEST(BenchmarkWithoutServer, InodeScaleHasARowForEachWorkloadPolicyNumberOfThreadsAndFillTime) {
  const BenchmarkRun run =
      RunBenchmark("inode_scale", {"--policies", "H0+L0+U0,H2+L1+U0,H8+L3+U1", "--threads", "1,2",
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

TEST(BenchmarkWithoutServer, InodeScaleHasARowForEachRateOfHitsAndEachKindOfKeys) {
  const BenchmarkRun run = RunBenchmark(
      "inode_scale", {"--workloads", "pressure", "--policies", "H1+L1+U1,H6+L1+U1", "--threads",
                      "1", "--files", "200", "--repetitions", "1", "--fill-ns", "0", "--hits",
                      "0,90,100", "--keys", "spread,one-lock"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::set<std::string> seen;
  for (const Json& row : run.rows) {
    ExpectTimesOrReason(row);
    if (!row.contains("workload")) continue;
    const std::string policy = row["policy"], keys = row["keys"];
    const int hit_percent = row["hit_percent"];
    seen.insert(policy + keys + std::to_string(hit_percent));
    if (hit_percent == 100) {
      EXPECT_EQ(row["hash_acq_per_inode"], 0) << row;
    } else if (policy == "H1+L1+U1" || keys == "one-lock") {
      EXPECT_GT(row["hash_acq_per_inode"], 0.1) << row;
    }
  }
  EXPECT_EQ(seen.size(), 2u * 3 * 2);
}

TEST_F(Benchmark, InodeScaleHasTheSameRowsOnAServer) {
  const BenchmarkRun run =
      RunBenchmark("inode_scale", {"--policies", "H0+L0+U0,H8+L3+U1", "--threads", "2", "--files",
                                   "20", "--repetitions", "1", "--server"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.rows.size(), 7u * 2);
  for (const Json& row : run.rows) ExpectTimesOrReason(row);
  EXPECT_THAT(run.facts["server"].get<std::string>(), HasSubstr("loopback"));
}

// --- warm_stat ---

TEST_F(Benchmark, WarmStatHasARowForEachSubjectAndCourse) {
  const BenchmarkRun run = RunBenchmark("warm_stat", {"--quick", "--files", "2000", "--repetitions",
                                                      "1", "--turn-ms", "1", "--threads", "1,2"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.facts["files"], 2000);
  EXPECT_EQ(run.totals["interrupted"], false);
  std::map<std::tuple<std::string, std::string, int>, int> courses;
  std::set<std::pair<std::string, int>> churn;
  for (const Json& row : run.rows) {
    ExpectTimesOrReason(row);
    if (row.contains("churn")) {
      churn.emplace(row["churn"], row["directories"]);
      EXPECT_EQ(row["changes_per_s"] > 0, row["churn"] != "none") << row;
      EXPECT_GT(row["prefix_hits"], 0) << row;
    } else {
      ++courses[{row["subject"], row["mode"], row["identities"]}];
    }
  }
  EXPECT_EQ(churn.size(), 6u * 2);
  // Ten courses, with one thread and with two; one of them also as four identities. Three more
  // beside the map, which knows no links and opens nothing.
  for (const char* mode : {"ref", "rcu-locked", "rcu-peek", "nopathcache", "rcu-search"}) {
    const bool beside_map =
        mode == std::string_view("nopathcache") || mode == std::string_view("rcu-search");
    EXPECT_EQ((courses[{"nfswalk", mode, 1}]), (beside_map ? 13 : 10) * 2) << mode;
    EXPECT_EQ((courses[{"nfswalk", mode, 4}]), 1 * 2) << mode;
  }
  EXPECT_EQ((courses[{"kernel, tmpfs", "-", 1}]), 10 * 2);
  EXPECT_EQ((courses[{"libnfs sync", "-", 1}]), 10 * 2);
  EXPECT_EQ((courses[{"map", "-", 1}]), 11 * 2);
  EXPECT_EQ(courses.size(), 13u);
}

// --- rpc ---

TEST_F(Benchmark, RpcTimesEveryCallerAloneAndInParallel) {
  const BenchmarkRun run = RunBenchmark("rpc", {"--calls", "300", "--repetitions", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.totals["interrupted"], false);
  std::set<std::tuple<std::string, std::string, int>> rows;
  for (const Json& row : run.rows) {
    rows.emplace(row["server"], row["subject"], row["in_flight"]);
    ExpectTimesOrReason(row);
  }
  EXPECT_EQ(rows.size(), 2 * 7u);
}

// --- cold_walk ---

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

TEST_F(Benchmark, ColdWalkCountsTheRpcsOfEveryWalkOverBothVersions) {
  constexpr int kFiles = 300;
  const BenchmarkRun run =
      RunBenchmark("cold_walk", {"--quick", "--files", "300", "--threads", "1,4", "--repetitions",
                                 "1", "--libnfs-one-in", "3"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.facts["files"], kFiles);
  EXPECT_EQ(run.totals["interrupted"], false);
  // Five settings by path, three by listing, and two each from memory, with two numbers of threads
  // and the raw calls; libnfs by path and by listing; four settings with expired caches; the deep
  // file; two walks far from the server; batches; the large directory and changes with raw calls.
  EXPECT_EQ(run.rows.size(), (8u + 2 * 2) * 3 + 2 * 2 * 2 + 4 * 2 + 3 + 4 + 8 + 2 * 2 + 2 * 2);
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
    EXPECT_GE(of("nfswalk nordirplus", protocol, "expired", 1)["rpcs"], kFiles) << "one by one";
    EXPECT_LT(of("nfswalk", protocol, "expired", 1)["rpcs"], kFiles / 10) << "by listings";
    EXPECT_LT(of("nfswalk 1 ms", protocol, "path", 1)["rpcs"], kFiles / 4);
    EXPECT_LT(of("nfswalk 1 ms", protocol, "expired", 1)["rpcs"], kFiles / 10);
    EXPECT_EQ(of("libnfs sync", protocol, "find", 1)["files"], kFiles + 1);
    EXPECT_LT(of("libnfs sync", protocol, "find", 1)["rpcs"], kFiles / 4) << "with attributes";
    for (const char* subject : {"nfswalk", "raw calls"}) {
      const Json large = of(subject, protocol, "large", 1);
      EXPECT_EQ(large["files"], 2 * kFiles / 10);
      EXPECT_GE(large.value("longest_ns", 1.0), large.value("p999_ns", 0.0));
    }
    const Json changes = of("nfswalk", protocol, "create+unlink", 1);
    EXPECT_EQ(changes["rpcs"], of("raw calls", protocol, "create+unlink", 1)["rpcs"]) << changes;
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

// --- memory ---

TEST(BenchmarkWithoutServer, MemoryTimesEveryCacheThatHoldsAHotSet) {
  const BenchmarkRun run =
      RunBenchmark("memory", {"--quick", "--files-max", "3000", "--hot", "100,2000",
                              "--repetitions", "1", "--turn-ms", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.facts["files_max"], 3000);
  EXPECT_EQ(run.totals["interrupted"], false);
  std::vector<std::pair<uint64_t, uint64_t>> costs;
  std::vector<std::string> names;
  for (const Json& row : run.rows) {
    EXPECT_EQ(row["subject"], "nfswalk");
    if (row["kind"] == "bytes") {
      EXPECT_EQ(row["files"], 3000);
      EXPECT_GT(row["bytes_per_file"], 128) << "a name, a handle and attributes";
      EXPECT_LE(row["bytes_min"], row["bytes_max"]);
      names.push_back(row["names"]);
    } else {
      EXPECT_EQ(row["kind"], "cost");
      EXPECT_EQ(row["mode"], "rcu-search");
      costs.emplace_back(row["hot"], row["entries"]);
      ExpectTimesOrReason(row);
    }
  }
  EXPECT_THAT(names, ElementsAre("10 to 14 bytes", "10 to 14 bytes, 1 in 16 of 72"));
  EXPECT_THAT(costs, ElementsAre(Pair(100, 1000), Pair(100, 3000), Pair(2000, 3000)));
}

TEST(BenchmarkWithoutServer, MemoryRefusesCachesThatDoNotFitInTheMachine) {
  const std::vector<uint64_t> sizes = bench::CacheSizes(100'000'000);
  if (bench::CheckMemoryFor(sizes, *bench::ProcBytes("/proc/meminfo", "MemAvailable:"))) {
    GTEST_SKIP() << "they fit";
  }
  const BenchmarkRun run = RunBenchmark("memory", {"--files-max", "100000000"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("100000000"));
  EXPECT_THAT(run.err, HasSubstr("--files-max"));
}

// --- make_replay ---

BenchmarkRun Replay(Strings arguments) {
  arguments.insert(arguments.begin(), {"--repetitions", "1", "--turn-ms", "20"});
  return RunBenchmark("make_replay", std::move(arguments));
}

// The rows of a phase. Expects right answers, and warm ones without an RPC but for opens.
std::vector<Json> RowsOf(const BenchmarkRun& run, const std::string& phase, int version = 3) {
  std::vector<Json> rows;
  for (const Json& row : run.rows) {
    if (row.value("phase", "") != phase) continue;
    ExpectTimesOrReason(row);
    EXPECT_EQ(row["mismatches"], 0) << row;
    EXPECT_GT(row["ops"], 0) << row;
    if (phase == "warm") {
      const std::string mode = row["mode"];
      const uint64_t opens = row["need_ref"]["complete"], rpcs = row["rpcs"];
      uint64_t exits = 0;
      for (const Json& count : row["need_ref"]) exits += count.get<uint64_t>();
      const bool is_v4 = version == 4 || mode.starts_with("v4-");
      if (row["subject"] == "nfswalk" && mode != "ref") {
        EXPECT_LE(exits - opens, row["threads"] == 1 ? 0 : opens / 100) << row;  // by others' opens
        EXPECT_EQ(opens > 0, is_v4 || mode == "v3-cto") << row;
      }
      // OPEN and CLOSE; RENEW now and then.
      EXPECT_TRUE(is_v4 ? rpcs >= 2 * opens : rpcs == (mode == "v3-cto" ? opens : 0)) << row;
    }
    rows.push_back(row);
  }
  return rows;
}

TEST_F(Benchmark, MakeReplayGetsTheRecordedResultsInEveryModeAndWarmWithoutRpcs) {
  const BenchmarkRun run =
      Replay({"--plan", kGitPlan, "--threads", "1,2,4,8", "--libnfs-one-in", "20"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(std::string(run.facts["server"]), HasSubstr("loopback"));
  EXPECT_EQ(run.rows.at(0)["coverage"]["stat_calls"], 15396);
  EXPECT_GT(run.totals["compared"], 5 * kCallsOfGit);
  EXPECT_EQ(run.totals["differ"], 0);
  const std::vector<Json> cold = RowsOf(run, "cold");
  EXPECT_EQ(cold.size(), 13u);  // eleven ways to mount, the kernel and libnfs
  for (const Json& row : cold) {
    if (row["subject"] == "libnfs sync") continue;
    EXPECT_GE(row["ops"], kCallsOfGit) << row;
  }
  // Without libnfs and what expires; four numbers of threads.
  EXPECT_EQ(RowsOf(run, "warm").size(), 8u * 4);
  const std::vector<Json> expired = RowsOf(run, "expired");
  ASSERT_EQ(expired.size(), 4u);
  for (const Json& row : expired) EXPECT_GT(row["need_ref"]["getattr_rpc"], 0) << row;
}

TEST_F(Benchmark, MakeReplayComparesNearlyEveryStatOfTheShippedTraces) {
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

TEST_F(Benchmark, MakeReplayGetsTheRecordedResultsFromAServerThatIsRestarted) {
  const BenchmarkRun run = Replay({"--plan", kGitPlan, "--threads", "4", "--modes",
                                   "ref,rcu-search", "--kill-server-after", "2000"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("killed and restarted the server"));
  EXPECT_EQ(run.totals["differ"], 0);
}

TEST_F(Benchmark, MakeReplayReportsAResultThatDiffersFromTheRecordedOne) {
  // Links have the mode 0777 on Linux, whatever is asked for.
  const std::string plan = WritePlan(
      "node d 755 0 0 0 /\nnode l 700 4 0 0 /odd xxxx\nstring /odd\nlot\n"
      "stat n 0 0 120700 4 1 0\nend 1\n");
  const BenchmarkRun run = Replay({"--plan", plan, "--threads", "1", "--modes", "rcu-search"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("nfswalk rcu-search differs: line 1: stat /odd: recorded mode "
                                 "120700, size 4, got mode "
                                 "120777, size 4"));
  EXPECT_GT(run.totals["differ"], 0);
  EXPECT_EQ(run.totals["differ"], run.totals["compared"]) << "warm-ups are compared too";
}

TEST_F(Benchmark, MakeReplayShowsWhatItsPeersAnswerOtherwiseAndJudgesItself) {
  // libnfs takes a file for a directory.
  const std::string plan = WritePlan(
      "node d 755 0 0 0 /\nnode f 644 3 0 0 /f\nstring /f/\nlot\nstat - 20 0 0 - 1 0\nend 1\n");
  const BenchmarkRun run =
      Replay({"--plan", plan, "--threads", "1", "--modes", "rcu-search,libnfs"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("libnfs sync differs: line 1: stat /f/: recorded Not a directory, "
                                 "got mode 100644, size 3"));
  EXPECT_EQ(run.totals["differ"], 0);
  EXPECT_GE(run.totals["others_differ"], 1);
  uint64_t ours = 0;
  for (const Json& row : run.rows) {
    if (row.value("subject", "") == "nfswalk") ours += row["ops"].get<uint64_t>();
  }
  EXPECT_GE(run.totals["compared"], ours);
  EXPECT_EQ(run.rows.at(2)["mismatches"], 1) << run.rows.at(2);
}

// A server that outlives the run.
class BenchmarkOnGivenServer : public Benchmark {
 protected:
  void SetUp() override {
    Benchmark::SetUp();
    if (IsSkipped()) return;
    auto server = NfsServer::Start();
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
  }
  bool NothingLeftBehind() const { return std::filesystem::is_empty(server_->backing_directory()); }

  std::unique_ptr<NfsServer> server_;
};

TEST_F(BenchmarkOnGivenServer, LibnfsMountsWithTheVersionOfTheServersUrl) {
  const NfsServer::NetworkScope scope(*server_);
  for (const int version : {3, 4}) {
    const auto server = bench::ServerExport::Open(server_->Url("", version));
    ASSERT_TRUE(server) << server.error();
    const auto libnfs = bench::ConnectLibnfs(**server, (*server)->UrlOf(""));
    ASSERT_TRUE(libnfs) << libnfs.error();
    nfsdir* directory = nullptr;
    ASSERT_EQ(nfs_opendir(libnfs->get(), "/", &directory), 0) << nfs_get_error(libnfs->get());
    bool lists_itself = false;
    while (const nfsdirent* entry = nfs_readdir(libnfs->get(), directory)) {
      lists_itself |= entry->name == std::string(".");
    }
    nfs_closedir(libnfs->get(), directory);
    EXPECT_EQ(lists_itself, version == 3) << "RFC 7530 16.24.4: no entry for the directory itself";
  }
}

TEST_F(BenchmarkOnGivenServer, ColdWalkMakesItsTreeThroughNfsAndRemovesIt) {
  const NfsServer::NetworkScope scope(*server_);
  for (const char* version : {"3", "4"}) {
    SCOPED_TRACE(version);
    // The URL has the ports of version 3; both versions are walked whatever it says.
    const std::string url =
        std::string("nfs://127.0.0.1:2049/export?mountport=20048&version=") + version;
    const BenchmarkRun run =
        RunBenchmark("cold_walk", {"--files", "20", "--repetitions", "1", "--server", url});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(NothingLeftBehind());
  }
}

TEST_F(BenchmarkOnGivenServer, MakeReplayMakesItsTreeThroughNfsAndRemovesIt) {
  const NfsServer::NetworkScope scope(*server_);
  for (const int version : {3, 4}) {
    SCOPED_TRACE(version);
    const BenchmarkRun run = Replay({"--plan", kGitPlan, "--threads", "2", "--modes",
                                     "ref,rcu-locked,rcu-peek,rcu-search,libnfs", "--libnfs-one-in",
                                     "20", "--server", server_->Url("", version)});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(
        run.rows.at(0)["coverage"]["left_out"]["device, FIFO or socket, not made through NFS"], 2);
    const std::vector<Json> cold = RowsOf(run, "cold");
    ASSERT_EQ(cold.size(), 5u);
    for (size_t i = 0; i < 4; ++i) EXPECT_GE(cold[i]["ops"], kCallsOfGit) << cold[i];
    EXPECT_EQ(RowsOf(run, "warm", version).size(), 4u);
    EXPECT_TRUE(NothingLeftBehind());
  }
}

struct LongRun {
  std::string bench;
  int version;
  Strings arguments;
};

class BenchmarkThatEndsEarly : public BenchmarkOnGivenServer,
                               public testing::WithParamInterface<LongRun> {
 protected:
  // Returns once the run makes its tree, which it does after it has begun to catch signals.
  StartedBenchmark StartRun(const std::string& options = "") {
    const NfsServer::NetworkScope scope(*server_);
    Strings arguments = GetParam().arguments;
    arguments.insert(arguments.end(), {"--repetitions", "1000", "--server",
                                       server_->Url(options, GetParam().version)});
    StartedBenchmark run(GetParam().bench, arguments);
    while (NothingLeftBehind()) std::this_thread::yield();
    return run;
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, BenchmarkThatEndsEarly,
    testing::Values(
        LongRun{"inode_scale", 3, {"--policies", "H3+L1+U1", "--threads", "1", "--files", "20"}},
        LongRun{"warm_stat", 3, {"--files", "20", "--threads", "1", "--turn-ms", "1"}},
        LongRun{"warm_stat", 4, {"--files", "20", "--threads", "1", "--turn-ms", "1"}},
        LongRun{"cold_walk", 3, {"--files", "200"}}, LongRun{"cold_walk", 4, {"--files", "200"}},
        LongRun{"make_replay", 3, {"--plan", kGitPlan, "--modes", "rcu-search"}},
        LongRun{"make_replay", 4, {"--plan", kGitPlan, "--modes", "rcu-search"}}),
    [](const auto& test) { return test.param.bench + "_v" + std::to_string(test.param.version); });

TEST_P(BenchmarkThatEndsEarly, RemovesItsTreeWhenInterrupted) {
  StartedBenchmark run = StartRun();
  kill(run.pid(), SIGINT);
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  if (GetParam().bench != "make_replay") {  // whose totals are of its comparison
    EXPECT_EQ(ended.totals["interrupted"], true);
  }
  EXPECT_TRUE(NothingLeftBehind());
}

TEST_P(BenchmarkThatEndsEarly, FailsWhenItsServerDies) {
  StartedBenchmark run = StartRun("soft&timeo=1&retrans=1");
  server_->Kill();
  const BenchmarkRun ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr(GetParam().bench + ": "));
  EXPECT_TRUE(ended.totals.is_null());
}

TEST(BenchmarkWithoutServer, MemoryKeepsItsRowsWhenInterrupted) {
  const std::string file = testing::TempDir() + "/rows.jsonl";
  StartedBenchmark run("memory", {"--files-max", "1000", "--hot", "10", "--repetitions", "1000",
                                  "--turn-ms", "60000", "--json", file});
  const auto lines = [&file] {
    std::ifstream stream(file);
    int count = 0;
    for (std::string line; std::getline(stream, line);) ++count;
    return count;
  };
  while (lines() < 1) std::this_thread::yield();
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait().exit_code, 130);
  EXPECT_GE(lines(), 2) << "facts and totals";
}

// --- errors ---

TEST(BenchmarkWithoutServer, NamesWhatMakesItFail) {
  const Strings unreachable{"--server", "nfs://127.0.0.1:1/export?nfsport=1&version=4"};
  const Strings unwritable{"--quick", "--json", "/nowhere/rows.jsonl"};
  const struct {
    const char* bench;
    Strings arguments;
    const char* message;
  } rows[] = {
      {"warm_stat", unreachable, "127.0.0.1"},
      {"cold_walk", unreachable, "127.0.0.1"},
      {"rpc", unreachable, "127.0.0.1"},
      {"warm_stat", {"--quick", "--files", "20", "--library", "/none.so"}, "/none.so"},
      {"inode_scale", unwritable, "/nowhere/rows.jsonl"},
      {"memory", unwritable, "/nowhere/rows.jsonl"},
      {"make_replay",
       {"--plan", WritePlan("hello\n"), "--modes", "kernel"},
       "written.plan, line 4: no line of a plan"},
  };
  for (const auto& [bench, arguments, message] : rows) {
    const BenchmarkRun run = RunBenchmark(bench, arguments);
    EXPECT_EQ(run.exit_code, 1) << bench;
    EXPECT_THAT(run.err, HasSubstr(message)) << bench;
  }
}

TEST(BenchmarkWithoutServer, RefusesBadArgumentsByNameWithoutRows) {
  const std::map<std::string, std::vector<Strings>> refused{
      {"inode_scale",
       {{"--policies", "H9+L0+U0"},
        {"--policies", "H3+L1"},
        {"--policies", "H1+L3+U0"},
        {"--workloads", "dance"},
        {"--threads", "0"},
        {"--files", "0"},
        {"--load", "65"},
        {"--fill-ns", "-1"},
        {"--hits", "101"},
        {"--keys", "friendly"},
        {"stray"}}},
      {"warm_stat",
       {{"--files", "0"},
        {"--threads", "x"},
        {"--threads", "257"},
        {"--turn-ms", "0"},
        {"--repetitions", "1001"},
        {"--churn", "0"},
        {"--bogus"},
        {"stray"}}},
      {"cold_walk",
       {{"--files", "0"},
        {"--threads", "0"},
        {"--threads", "x"},
        {"--repetitions", "0"},
        {"--libnfs-one-in", "0"},
        {"--bogus"},
        {"stray"}}},
      {"rpc", {{"--calls", "0"}, {"--repetitions", "0"}, {"--bogus"}, {"stray"}}},
      {"memory",
       {{"--files-max", "999"}, {"--hot", "0"}, {"--turn-ms", "0"}, {"--threads"}, {"stray"}}},
      {"make_replay",
       {{"--plan", "/nowhere"},
        {"--modes", "rcu"},
        {"--threads", "0"},
        {"--turn-ms", "0"},
        {"--libnfs-one-in", "0"},
        {"--bogus"},
        {"stray"}}},
  };
  for (const auto& [bench, command_lines] : refused) {
    for (const Strings& arguments : command_lines) {
      SCOPED_TRACE(bench + testing::PrintToString(arguments));
      const BenchmarkRun run = RunBenchmark(bench, arguments);
      EXPECT_EQ(run.exit_code, 2);
      EXPECT_TRUE(run.facts.is_null() && run.rows.empty());
      EXPECT_THAT(run.err, HasSubstr(arguments.back()));
    }
  }
  EXPECT_THAT(RunBenchmark("inode_scale", {"--policies", "H1+L3+U0"}).err, HasSubstr("use H8+L3"));
}

}  // namespace
}  // namespace nfswalk
