#include "bench/inode_scale/scale_report.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/inode_scale/letter_tables.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nfswalk::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

ScaleRow Bulkstat(std::string hash, std::string list, size_t threads, double inodes_per_s,
                  double acquisitions) {
  return {.workload = "bulkstat",
          .hash = std::move(hash),
          .list = std::move(list),
          .lru = "U0",
          .threads = threads,
          .fill_ns = 1000,
          .seconds = 1,
          .seconds_min = 0.5,
          .seconds_max = 2,
          .inodes_per_s = inodes_per_s,
          .global_acq_per_inode = acquisitions,
          .efficiency = 0.75};
}

TEST(ScaleJson, ARowHasTheseKeysAndNoOthers) {
  const std::vector<ScaleRow> rows = {Bulkstat("H0", "L0", 2, 4e6, 5)};
  const auto json = nlohmann::ordered_json::parse(ScaleJson(rows));
  ASSERT_EQ(json.size(), 1U);
  std::vector<std::string> keys;
  for (const auto& item : json[0].items()) keys.push_back(item.key());
  EXPECT_THAT(keys, ElementsAre("workload", "hash", "list", "lru", "threads", "fill_ns", "seconds",
                                "seconds_min", "seconds_max", "inodes_per_s",
                                "global_acq_per_inode", "efficiency"));
}

TEST(ScaleJson, EveryMemberArrivesUnderItsName) {
  const std::vector<ScaleRow> rows = {Bulkstat("H0", "L1", 2, 4e6, 3),
                                      Bulkstat("H2", "L0", 4, 1, 2)};
  const auto json = nlohmann::json::parse(ScaleJson(rows));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0], (nlohmann::json{{"workload", "bulkstat"},
                                     {"hash", "H0"},
                                     {"list", "L1"},
                                     {"lru", "U0"},
                                     {"threads", 2},
                                     {"fill_ns", 1000},
                                     {"seconds", 1.0},
                                     {"seconds_min", 0.5},
                                     {"seconds_max", 2.0},
                                     {"inodes_per_s", 4e6},
                                     {"global_acq_per_inode", 3.0},
                                     {"efficiency", 0.75}}));
  EXPECT_EQ(json[1]["hash"], "H2");
  EXPECT_EQ(json[1]["threads"], 4);
}

TEST(ScaleJson, NoRowsAreAnEmptyArray) { EXPECT_EQ(ScaleJson({}), "[]\n"); }

TEST(ScaleJson, WhatIsNoNumberIsNull) {
  std::vector<ScaleRow> rows = {Bulkstat("H0", "L0", 2, 4e6, 5)};
  rows[0].efficiency = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(nlohmann::json::parse(ScaleJson(rows))[0]["efficiency"].is_null());
}

TEST(LettersJsonTest, EveryReportedCellIsThereWithBothItsTimes) {
  size_t reported = 0;
  for (const LetterTable& table : kLetterTables) {
    for (const LetterRow& row : table.rows) {
      for (const BeforeAfter& times : row.times) reported += times.reported();
    }
  }
  const auto json = nlohmann::json::parse(LettersJson());
  EXPECT_EQ(json.size(), reported);
  EXPECT_EQ(json.back(), (nlohmann::json{{"letter", "the RCU inode lookup letter"},
                                         {"filesystem", "btrfs"},
                                         {"workload", "fstree"},
                                         {"threads", 20},
                                         {"files", 20'000'000},
                                         {"before_s", 45.549},
                                         {"after_s", 37.932}}));
}

TEST(CurvesText, SaysThatItIsSimulated) {
  const SimulatedCurve curve{.name = "H0+L0+U0", .onset = 7, .points = {{1, 0.5}, {64, 4}}};
  const std::string text = CurvesText({&curve, 1});
  EXPECT_THAT(text, StartsWith("SIMULATED, not measured"));
  EXPECT_THAT(text, HasSubstr("         1         0.5000 (1.00)\n"));
  EXPECT_THAT(text, HasSubstr("        64         4.0000 (8.00)\n"));
  EXPECT_THAT(text, HasSubstr("    onset ~                   7.0\n"));
}

TEST(CurvesText, CurvesNeedNotHaveTheSamePoints) {
  const std::array<SimulatedCurve, 2> curves = {
      SimulatedCurve{.name = "a", .onset = 3, .points = {{2, 0.5}}},
      SimulatedCurve{.name = "b",
                     .onset = std::numeric_limits<double>::infinity(),
                     .points = {{1, 0.25}, {2, 0.25}}}};
  const std::string text = CurvesText(curves);
  EXPECT_THAT(text, HasSubstr("         1                     -         0.2500 (1.00)\n"));
  // Without a point for one processor there is nothing to compare with.
  EXPECT_THAT(text, HasSubstr("         2                0.5000         0.2500 (1.00)\n"));
  EXPECT_THAT(text, HasSubstr("                   3.0                 never\n"));
}

TEST(CurvesText, IsEmptyWithoutCurves) { EXPECT_THAT(CurvesText({}), IsEmpty()); }

TEST(CurvesText, AColumnIsAsWideAsItsName) {
  const SimulatedCurve curve{
      .name = "a name of thirty-one characters", .onset = 3, .points = {{1, 0.5}}};
  EXPECT_THAT(CurvesText({&curve, 1}), HasSubstr("         1                    0.5000 (1.00)\n"));
}

TEST(ValidationText, ComparesWithTheRowOfAsManyThreadsAndSaysWhatIsOff) {
  const std::vector<ScaleRow> rows = {Bulkstat("H0", "L0", 1, 1, 5), Bulkstat("H0", "L0", 2, 1, 5),
                                      Bulkstat("H0", "L0", 4, 1, 5)};
  const std::vector<SimulatedCurve> curves = {
      {.name = "H0+L0+U0", .onset = 2, .points = {{1, 1.01}, {2, 1.3}, {4, 1.0}}},
      {.name = "H3+L1+U0", .onset = 2, .points = {{1, 1.0}}}};
  const std::string text = ValidationText(rows, curves, 2);
  EXPECT_THAT(text, HasSubstr("H0+L0+U0               1  1.01\n"));
  EXPECT_THAT(text, HasSubstr("H0+L0+U0               2  1.30  OFF\n"));
  // More threads than processors measure no parallelism; H3 was not measured at all.
  EXPECT_THAT(text, Not(HasSubstr(" 4  ")));
  EXPECT_THAT(text, Not(HasSubstr("H3")));
  EXPECT_THAT(ValidationText({}, curves, 2), IsEmpty());
}

TEST(ClaimsText, LargeRatiosAreLeftToCountsAndSimulation) {
  EXPECT_THAT(ClaimsText({}, 2),
              HasSubstr("What only counts and simulation show on fewer than 8 to 64 processors\n"
                        "  the letters' 2.14x (fstree; 2.24x of its system time), 2.58x and 4.06x "
                        "(walk), 12.2x (bulkstat)\n"));
}

TEST(ClaimsText, OversubscribedRowsAreNamed) {
  const std::vector<ScaleRow> rows = {Bulkstat("H0", "L0", 16, 1, 5), Bulkstat("H0", "L0", 2, 1, 5),
                                      Bulkstat("H0", "L0", 4, 1, 5), Bulkstat("H2", "L0", 4, 1, 2)};
  EXPECT_THAT(ClaimsText(rows, 2),
              HasSubstr("Rows with 4, 16 threads: oversubscription, not scalability."));
  EXPECT_THAT(ClaimsText(rows, 16), Not(HasSubstr("oversubscription")));
}

TEST(ClaimsText, BundlesWithTheSameCountStandTogether) {
  const std::vector<ScaleRow> rows = {Bulkstat("H2", "L1", 1, 1, 0), Bulkstat("H0", "L0", 1, 1, 5),
                                      Bulkstat("H8", "L3", 1, 1, 0), Bulkstat("H2", "L1", 2, 1, 0)};
  EXPECT_THAT(ClaimsText(rows, 2), HasSubstr("   5.000  H0+L0+U0\n   0.000  H2+L1+U0, H8+L3+U0\n"));
}

TEST(ClaimsText, TheStreamingRateIsThatOfThreadsThatHaveAProcessor) {
  const std::vector<ScaleRow> rows = {Bulkstat("H0", "L0", 2, 1e6, 5),
                                      Bulkstat("H8", "L3", 2, 4e6, 0),
                                      Bulkstat("H7", "L3", 4, 9e6, 0)};
  const std::string text = ClaimsText(rows, 2);
  EXPECT_THAT(text, HasSubstr("bulkstat, 2 threads, H8+L3+U0: 4.00 million inodes/s\n"));
  EXPECT_THAT(text, HasSubstr("(the superblock iteration letter: 7.27 million with 64 threads"));
}

TEST(ClaimsText, SaysWhatWasNotRun) {
  const std::string text = ClaimsText({}, 2);
  EXPECT_THAT(text, HasSubstr("bulkstat was not run, so nothing was counted"));
  EXPECT_THAT(text, Not(HasSubstr("million inodes/s")));
}

TEST(ClaimsText, OneProcessorShowsNoParallelism) {
  EXPECT_THAT(ClaimsText({}, 2), HasSubstr("at two threads"));
  EXPECT_THAT(ClaimsText({}, 1), Not(HasSubstr("at two threads")));
}

TEST(ScaleReport, HoldsTableCurvesAndClaimsInThisOrder) {
  const std::vector<ScaleRow> rows = {Bulkstat("H0", "L0", 2, 1e6, 5)};
  const SimulatedCurve curve{.name = "H0+L0+U0", .onset = 7, .points = {{1, 0.5}}};
  const std::string text = ScaleReport(rows, {&curve, 1}, 2);
  const size_t table = text.find("threads ");
  const size_t simulated = text.find("SIMULATED");
  const size_t claims = text.find("What times on 2 processors");
  EXPECT_LT(table, simulated);
  EXPECT_LT(simulated, claims);
  EXPECT_NE(claims, std::string::npos);
  EXPECT_THAT(ScaleReport({}, {}, 2), Not(HasSubstr("SIMULATED")));
}

}  // namespace
}  // namespace nfswalk::bench
