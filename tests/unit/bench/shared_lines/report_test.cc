#include "bench/shared_lines/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

std::vector<SharedLinesRow> Rows() {
  std::vector<SharedLinesRow> rows;
  for (const char* workload : {"bulkstat", "warm"}) {
    for (const size_t threads : {1, 64}) {
      rows.push_back({.workload = workload,
                      .policy = "H0+L0+U0",
                      .threads = threads,
                      .visits = 100,
                      .lines = {.among_threads = {.writes = 1200 * (threads - 1), .reads = 50},
                                .after_callbacks = {.writes = 3, .reads = 4},
                                .callbacks = 5}});
    }
  }
  return rows;
}

TEST(SharedLinesReportTest, ATableHasAPolicyARowAndACountOfThreadsAColumn) {
  const std::string tables = SharedLinesTables(Rows());
  EXPECT_NE(tables.find("bulkstat: shared writes / reads a visit\n"), std::string::npos);
  EXPECT_NE(tables.find("| threads  |           1 |          64 |\n"), std::string::npos);
  EXPECT_NE(tables.find("| H0+L0+U0 | 0.00 / 0.50 | 756.00 / 0.50 |\n"), std::string::npos);
  EXPECT_LT(tables.find("bulkstat"), tables.find("warm"));
}

TEST(SharedLinesReportTest, JsonHasEveryCountForOneVisit) {
  const auto rows = nlohmann::json::parse(SharedLinesJson(Rows()));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1], (nlohmann::json{{"workload", "bulkstat"},
                                     {"policy", "H0+L0+U0"},
                                     {"threads", 64},
                                     {"visits", 100},
                                     {"shared_writes", 756.0},
                                     {"shared_reads", 0.5},
                                     {"writes_after_callbacks", 0.03},
                                     {"reads_after_callbacks", 0.04},
                                     {"callbacks", 0.05}}));
}

}  // namespace
}  // namespace nfswalk::bench
