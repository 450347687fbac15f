#include "bench/cold_walk/cold_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ColdRow Row(const std::string& subject, int version, ColdMode mode, size_t threads, uint64_t files,
            uint64_t rpcs, double seconds) {
  return RowOf({subject, version, mode, threads},
               {{.files = files, .rpcs = rpcs, .seconds = seconds}});
}

std::vector<ColdRow> Rows() {
  std::vector<ColdRow> rows = {
      Row("nfswalk", 4, ColdMode::kPath, 4, 1000, 1000, 2.0),
      Row("raw calls", 4, ColdMode::kPath, 1, 1000, 1000, 1.0),
      Row("nfswalk nocompound", 4, ColdMode::kPath, 4, 1000, 2000, 2.0),
      Row("raw calls nocompound", 4, ColdMode::kPath, 1, 1000, 2000, 1.6),
      Row("libnfs sync", 4, ColdMode::kPath, 4, 100, 100, 1.0),
      Row("nfswalk", 4, ColdMode::kFind, 4, 1000, 60, 1.0),
      Row("nfswalk", 4, ColdMode::kDeep, 1, 1, 2, 0.001),
  };
  CompareWithCeilings(rows);
  return rows;
}

TEST(ColdReportTest, ARowIsTheTurnOfTheMedianTime) {
  const ColdRow row = RowOf({}, {{.files = 3, .rpcs = 30, .seconds = 3},
                                 {.files = 1, .rpcs = 10, .seconds = 1},
                                 {.files = 2, .rpcs = 20, .seconds = 2}});
  EXPECT_EQ(row.seconds, 2);
  EXPECT_EQ(row.rpcs, 20u);
  EXPECT_EQ(row.seconds_min, 1);
  EXPECT_EQ(row.seconds_max, 3);
}

TEST(ColdReportTest, EachWalkIsHeldAgainstTheRawCallsOfItsOwnKind) {
  const std::vector<ColdRow> rows = Rows();
  EXPECT_DOUBLE_EQ(*rows[0].of_ceiling, 0.5);
  EXPECT_DOUBLE_EQ(*rows[1].of_ceiling, 1.0);
  EXPECT_DOUBLE_EQ(*rows[2].of_ceiling, 0.8);
  EXPECT_DOUBLE_EQ(*rows[3].of_ceiling, 1.0);
  EXPECT_DOUBLE_EQ(*rows[4].of_ceiling, 0.1);
  EXPECT_FALSE(rows[5].of_ceiling) << "nobody made the calls of this find";
}

TEST(ColdReportTest, JsonRowsHaveTheKeysThatWereAskedForAndNoOthers) {
  const Json json = Json::parse(ColdJson(Rows()));
  ASSERT_EQ(json.size(), 7u);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json[0].items()) keys.push_back(key);
  EXPECT_THAT(
      keys, ElementsAre("subject", "protocol", "mode", "threads", "files", "rpcs", "rpcs_per_file",
                        "seconds", "seconds_min", "seconds_max", "files_per_s", "of_ceiling"));
  EXPECT_EQ(json[0]["protocol"], "v4");
  EXPECT_EQ(json[0]["mode"], "path");
  EXPECT_EQ(json[0]["rpcs_per_file"], 1.0);
  EXPECT_EQ(json[0]["files_per_s"], 500.0);
  EXPECT_TRUE(json[5]["of_ceiling"].is_null());
}

TEST(ColdReportTest, EveryFigureSaysWhetherItWasReached) {
  std::vector<ColdRow> rows = Rows();
  const std::string missed = FiguresText(rows);
  EXPECT_THAT(missed, testing::ContainsRegex("depth-8 path: 1 round trip +2 +NOT REACHED"));
  EXPECT_THAT(missed, testing::ContainsRegex("find: at most 0.05 RPCs a file +0.0600 +NOT"));
  EXPECT_THAT(missed, testing::ContainsRegex("synchronous calls: 4x +5.00x +reached"));
  EXPECT_THAT(missed, testing::ContainsRegex("cold path, share .*0.7 +0.50 +NOT REACHED"));
  EXPECT_THAT(missed, Not(HasSubstr("v3"))) << "nothing was measured over version 3";
  rows[6].rpcs = 1;
  rows[5].rpcs = 50;
  rows[0].of_ceiling = 0.7;
  EXPECT_THAT(FiguresText(rows), Not(HasSubstr("NOT REACHED")));
}

TEST(ColdReportTest, WhatListingAheadIsWorthStandsBesideTheFigure) {
  std::vector<ColdRow> rows = Rows();
  EXPECT_THAT(FiguresText(rows), Not(HasSubstr("without listing")));
  rows.push_back(Row("nfswalk nordirplus", 4, ColdMode::kPath, 4, 1000, 1000, 5.0));
  EXPECT_THAT(FiguresText(rows), testing::ContainsRegex("without listing .* 2.00x"));
}

TEST(ColdReportTest, NothingMeasuredHasNoFigures) { EXPECT_EQ(FiguresText({}), ""); }

}  // namespace
}  // namespace nfswalk::bench
