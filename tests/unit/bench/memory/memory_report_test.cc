#include "bench/memory/memory_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace nfswalk::bench {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

MemoryRows Rows() {
  MemoryRows rows{.bytes = {BytesRowOf(true, 1000, {600'000, 300'000, 400'000})},
                  .costs = {
                      {.entries = 1000, .hot = 10, .ns_per_op = 80, .cpu_share = 1},
                      {.entries = 100'000, .hot = 10, .ns_per_op = 100, .cpu_share = 1},
                      {.entries = 10'000'000, .hot = 10, .ns_per_op = 120, .cpu_share = 1},
                      {.entries = 10'000'000, .hot = 20, .ns_per_op = 130, .cpu_share = 1},
                  }};
  CompareWith1e5(rows.costs);
  return rows;
}

TEST(MemoryReportTest, BytesOfAFileAreTheMedianGrowthOverTheFiles) {
  const BytesRow row = Rows().bytes[0];
  EXPECT_EQ(row.bytes_per_file, 400);
  EXPECT_EQ(row.bytes_min, 300);
  EXPECT_EQ(row.bytes_max, 600);
}

TEST(MemoryReportTest, ACostIsHeldAgainstTheSameHotSetAmongAHundredThousand) {
  const MemoryRows rows = Rows();
  EXPECT_DOUBLE_EQ(*rows.costs[0].over_1e5, 0.8);
  EXPECT_DOUBLE_EQ(*rows.costs[1].over_1e5, 1.0);
  EXPECT_DOUBLE_EQ(*rows.costs[2].over_1e5, 1.2);
  EXPECT_FALSE(rows.costs[3].over_1e5) << "nobody measured 20 files among 100,000";
}

TEST(MemoryReportTest, JsonRowsAreOfTwoKinds) {
  const Json json = Json::parse(MemoryJson(Rows()));
  ASSERT_EQ(json.size(), 5u);
  EXPECT_EQ(json[0]["files"], 1000);
  EXPECT_EQ(json[0]["bytes_per_file"], 400);
  EXPECT_THAT(json[0]["names"], HasSubstr("1 in 16 of 72"));
  EXPECT_EQ(json[3]["entries"], 10'000'000);
  EXPECT_EQ(json[3]["hot"], 10);
  EXPECT_EQ(json[3]["ns_per_op"], 120);
  EXPECT_DOUBLE_EQ(json[3]["over_1e5"], 1.2);
  EXPECT_EQ(json[4]["over_1e5"], nullptr);
}

TEST(MemoryReportTest, TablesHaveALineForEachSizeAndADashWhereNothingWasMeasured) {
  const std::string tables = MemoryTables(Rows());
  EXPECT_THAT(tables, HasSubstr("400.0"));
  EXPECT_THAT(tables, HasSubstr("\n1000 "));
  EXPECT_THAT(tables, HasSubstr("\n10000000 "));
  EXPECT_THAT(tables, HasSubstr("1.20x"));
  EXPECT_THAT(tables, HasSubstr(" - "));
  EXPECT_EQ(MemoryTables({}), "");
}

TEST(MemoryReportTest, AFigureThatWasMissedIsCalledSo) {
  MemoryRows rows = Rows();
  EXPECT_THAT(MemoryFigures(rows), HasSubstr("NOT REACHED"));
  EXPECT_THAT(MemoryFigures(rows), Not(HasSubstr("disturbed")));
  rows.costs[2].ns_per_op = 110;
  CompareWith1e5(rows.costs);
  EXPECT_THAT(MemoryFigures(rows), Not(HasSubstr("NOT REACHED")));
  rows.bytes = {BytesRowOf(false, 1000, {501'000})};
  rows.costs[1].cpu_share = 0.5;
  EXPECT_THAT(MemoryFigures(rows), HasSubstr("501.0  NOT REACHED"));
  EXPECT_THAT(MemoryFigures(rows), HasSubstr("disturbed"));
}

}  // namespace
}  // namespace nfswalk::bench
