// memory as a user runs it, with a few files: which rows there are and how it ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/memory/cache_sizes.h"
#include "bench/memory/proc_bytes.h"
#include "tests/integration/benchmark_run.h"

namespace nfswalk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kBench = "memory";

TEST(MemoryTest, EveryCacheThatHoldsAHotSetIsAskedForIt) {
  const BenchmarkRun run =
      RunBenchmark(kBench, {"--quick", "--files-max", "3000", "--hot", "100,2000", "--repetitions",
                            "1", "--turn-ms", "1"});
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

TEST(MemoryTest, CachesThatDoNotFitInTheMachineAreRefusedBeforeTheyAreMade) {
  const std::vector<uint64_t> sizes = bench::CacheSizes(100'000'000);
  if (bench::CheckMemoryFor(sizes, *bench::ProcBytes("/proc/meminfo", "MemAvailable:"))) {
    GTEST_SKIP() << "they fit";
  }
  const BenchmarkRun run = RunBenchmark(kBench, {"--files-max", "100000000"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("100000000"));
  EXPECT_THAT(run.err, HasSubstr("--files-max"));
}

TEST(MemoryTest, InterruptedRunEndsWithTheRowsItHad) {
  const std::string file = testing::TempDir() + "/rows.jsonl";
  StartedBenchmark run(kBench, {"--files-max", "1000", "--hot", "10", "--repetitions", "1000",
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

TEST(MemoryTest, RowsThatCannotBeWrittenAreAnError) {
  const BenchmarkRun run = RunBenchmark(kBench, {"--quick", "--json", "/none/rows.jsonl"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("/none/rows.jsonl"));
}

TEST(MemoryTest, BadArgumentsAreRefusedByName) {
  ExpectRefused(
      kBench,
      {{"--files-max", "999"}, {"--hot", "0"}, {"--turn-ms", "0"}, {"--threads"}, {"stray"}});
}

}  // namespace
}  // namespace nfswalk
