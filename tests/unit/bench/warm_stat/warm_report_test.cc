#include "bench/warm_stat/warm_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::bench {
namespace {

constexpr Course kDeep{Pattern::kDistinct, 8};

WarmKey Key(std::string subject, std::string mode, size_t threads) {
  return {std::move(subject), std::move(mode), kDeep, threads, 1};
}

TEST(WarmReport, ARowIsTheMedianOfItsTurnsOnOneProcessor) {
  const std::vector<WarmTurn> turns = {{1000, 3e-6, 1}, {1000, 1e-6, 0.5}, {1000, 2e-6, 1}};
  const WarmRow row = RowOf(Key("nfswalk", "ref", 4), turns, 2);
  EXPECT_DOUBLE_EQ(row.ns_per_op, 4);  // two processors for two microseconds
  EXPECT_DOUBLE_EQ(row.ns_min, 2);
  EXPECT_DOUBLE_EQ(row.ns_max, 6);
  EXPECT_DOUBLE_EQ(row.ops_per_s, 1000 / 2e-6);
  EXPECT_DOUBLE_EQ(row.cpu_share, 0.5);
}

TEST(WarmReport, ScalingIsWhatMoreThreadsDoOverOne) {
  std::vector<WarmRow> rows = {{.key = Key("nfswalk", "ref", 1), .ops_per_s = 100},
                               {.key = Key("nfswalk", "ref", 2), .ops_per_s = 150},
                               {.key = Key("libnfs sync", "-", 2), .ops_per_s = 5}};
  CompareWithOneThread(rows);
  EXPECT_DOUBLE_EQ(rows[1].scaling, 1.5);
  const auto json = nlohmann::json::parse(WarmJson(rows));
  EXPECT_EQ(json[1]["scaling"], 1.5);
  EXPECT_TRUE(json[2]["scaling"].is_null());
  EXPECT_EQ(json[1]["pattern"], "distinct");
}

TEST(WarmReport, AFigureSaysWhetherItIsReachedAndWhetherToTrustIt) {
  std::vector<WarmRow> rows = {
      {.key = Key("nfswalk", "rcu-search", 1), .ns_per_op = 100, .cpu_share = 1},
      {.key = Key("kernel, tmpfs", "-", 1), .ns_per_op = 510, .cpu_share = 1}};
  EXPECT_NE(WarmFigures(rows).find("5.10x  reached\n"), std::string::npos) << WarmFigures(rows);
  rows[1].ns_per_op = 490;
  rows[0].cpu_share = 0.5;
  EXPECT_NE(WarmFigures(rows).find("4.90x  NOT REACHED (disturbed"), std::string::npos)
      << WarmFigures(rows);
  EXPECT_EQ(WarmFigures({}), "");
}

TEST(WarmReport, ATableHasALineForEachCourseAndADashForWhatIsMissing) {
  const std::vector<WarmRow> rows = {
      {.key = Key("nfswalk", "ref", 1), .ns_per_op = 7, .ns_min = 6, .ns_max = 8},
      {.key = Key("kernel, tmpfs", "-", 2), .ns_per_op = 9, .ns_min = 9, .ns_max = 9}};
  const std::string tables = WarmTables(rows);
  EXPECT_NE(tables.find("1 thread\n"), tables.npos) << tables;
  EXPECT_NE(tables.find("7 (6-8)"), tables.npos) << tables;
  EXPECT_NE(tables.find(" -\n"), tables.npos) << tables;
}

}  // namespace
}  // namespace nfswalk::bench
