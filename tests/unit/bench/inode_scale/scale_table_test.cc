#include "bench/inode_scale/scale_table.h"

#include <sstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nfswalk::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ScaleRow Row(std::string workload, std::string hash, std::string list, size_t threads,
             double seconds) {
  return {.workload = std::move(workload),
          .hash = std::move(hash),
          .list = std::move(list),
          .lru = "U0",
          .threads = threads,
          .seconds = seconds,
          .seconds_min = seconds * 0.99,
          .seconds_max = seconds * 1.01};
}

// The line that begins with `start`, runs of blanks made one; empty if there is none.
std::string Line(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    if (joined.starts_with(start)) return joined;
  }
  return {};
}

TEST(BestBundle, IsTheFastestWhereEveryThreadHasAProcessor) {
  const std::vector<ScaleRow> rows = {
      Row("walk", "H1", "L0", 1, 1),  Row("walk", "H2", "L1", 1, 2),
      Row("walk", "H1", "L0", 2, 4),  Row("walk", "H2", "L1", 2, 3),
      Row("walk", "H1", "L0", 16, 5), Row("walk", "H2", "L1", 16, 9)};
  EXPECT_EQ(BestBundle(rows, "walk", 2), "H2+L1+U0");
  EXPECT_EQ(BestBundle(rows, "walk", 1), "H1+L0+U0");
  EXPECT_EQ(BestBundle(rows, "walk", 64), "H1+L0+U0");
}

TEST(BestBundle, FallsBackToTheFewestThreadsIfAllAreTooMany) {
  const std::vector<ScaleRow> rows = {Row("walk", "H1", "L0", 16, 1), Row("walk", "H2", "L1", 8, 9),
                                      Row("walk", "H3", "L1", 8, 8)};
  EXPECT_EQ(BestBundle(rows, "walk", 2), "H3+L1+U0");
}

TEST(BestBundle, TheBaselineDoesNotCompete) {
  const std::vector<ScaleRow> rows = {Row("walk", "H0", "L0", 2, 1), Row("walk", "H2", "L1", 2, 3)};
  EXPECT_EQ(BestBundle(rows, "walk", 2), "H2+L1+U0");
  EXPECT_EQ(BestBundle(std::span(rows).first(1), "walk", 2), "");
  EXPECT_EQ(BestBundle(rows, "chmod", 2), "");
  EXPECT_EQ(BestBundle({}, "walk", 2), "");
}

TEST(ScaleTable, OurLineGoesFromTheBaselineToTheBestBundle) {
  const std::vector<ScaleRow> rows = {Row("walk", "H0", "L0", 2, 0.75),
                                      Row("walk", "H3", "L1", 2, 0.5),
                                      Row("walk", "H1", "L0", 2, 0.625)};
  const std::string text = ScaleTable(rows, 2);
  EXPECT_EQ(Line(text, "threads"), "threads create walk chmod unlink bulkstat fstree");
  EXPECT_EQ(Line(text, "after:"), "after: none H3+L1+U0 none none none none");
  EXPECT_EQ(Line(text, "2 ours"), "2 ours - 0.7500 -> 0.5000 1.50x - - - -");
}

TEST(ScaleTable, TheLettersStandBesideOurs) {
  const std::vector<ScaleRow> rows = {Row("walk", "H0", "L0", 4, 1),
                                      Row("walk", "H3", "L1", 4, 0.5)};
  const std::string text = ScaleTable(rows, 4);
  // With our line above, theirs do not repeat the number of threads.
  EXPECT_THAT(text, HasSubstr("ours "));
  EXPECT_EQ(Line(text, "ext4 [1] 11.008"),
            "ext4 [1] 11.008 -> 10.948 1.01x 8.152 -> 7.530 1.08x 11.140 -> 11.150 1.00x "
            "18.093 -> 17.153 1.05x - -");
  EXPECT_EQ(Line(text, "xfs [2] 4.269"),
            "xfs [2] 4.269 -> 4.140 1.03x 3.225 -> 3.502 0.92x 4.557 -> 4.154 1.10x "
            "7.316 -> 7.242 1.01x 1.306 -> 1.164 1.12x -");
  EXPECT_EQ(Line(text, "20 "), "20 ext4 [3] - - - - - 46.118 -> 21.581 2.14x");
  EXPECT_EQ(Line(text, "64 "),
            "64 xfs [2] 15.344 -> 14.112 1.09x 11.144 -> 3.953 2.82x 14.162 -> 10.365 1.37x "
            "18.604 -> 18.620 1.00x 15.494 -> 1.270 12.2x -");
  EXPECT_THAT(text, HasSubstr("the superblock iteration letter"));
}

TEST(ScaleTable, MoreThreadsThanProcessorsAreMarked) {
  const std::vector<ScaleRow> rows = {Row("walk", "H0", "L0", 2, 1),
                                      Row("walk", "H3", "L1", 2, 0.5),
                                      Row("walk", "H0", "L0", 4, 2), Row("walk", "H3", "L1", 4, 1)};
  const std::string text = ScaleTable(rows, 2);
  EXPECT_THAT(Line(text, "4 ours"), StartsWith("4 ours * "));
  EXPECT_THAT(Line(text, "2 ours"), Not(HasSubstr("*")));
  EXPECT_THAT(text, HasSubstr("the 2 processors here: oversubscription, not scalability"));
}

TEST(ScaleTable, OverlappingRangesAreMarkedAsNoDifference) {
  std::vector<ScaleRow> rows = {Row("walk", "H0", "L0", 2, 0.75), Row("walk", "H3", "L1", 2, 0.5)};
  EXPECT_THAT(Line(ScaleTable(rows, 2), "2 ours"), HasSubstr("1.50x -"));
  rows[1].seconds_max = 0.75;
  EXPECT_THAT(Line(ScaleTable(rows, 2), "2 ours"), HasSubstr("1.50x~ -"));
}

TEST(ScaleTable, MissingRowsLeaveNamedGaps) {
  const std::vector<ScaleRow> rows = {Row("walk", "H0", "L0", 1, 1),
                                      Row("walk", "H3", "L1", 2, 0.5),
                                      Row("chmod", "H0", "L0", 2, 0.25)};
  const std::string text = ScaleTable(rows, 2);
  EXPECT_EQ(Line(text, "1 ours"), "1 ours - 1.000 -> none - - - -");
  EXPECT_EQ(Line(text, "2 ours"), "2 ours - none -> 0.5000 0.2500 -> none - - -");
}

TEST(ScaleTable, AWorkloadOfOurOwnGetsAColumnWithoutLetters) {
  const std::vector<ScaleRow> rows = {Row("warm", "H0", "L0", 2, 3),
                                      Row("warm", "H3", "L1", 2, 1.5)};
  const std::string text = ScaleTable(rows, 2);
  EXPECT_EQ(Line(text, "threads"), "threads create walk chmod unlink bulkstat fstree warm");
  EXPECT_EQ(Line(text, "2 ours"), "2 ours - - - - - - 3.000 -> 1.500 2.00x");
  EXPECT_EQ(Line(text, "20 "), "20 ext4 [3] - - - - - 46.118 -> 21.581 2.14x -");
}

TEST(ScaleTable, WithoutRowsOnlyTheLettersSpeak) {
  const std::string text = ScaleTable({}, 2);
  EXPECT_THAT(text, StartsWith("Nothing was measured"));
  EXPECT_THAT(text, Not(HasSubstr("ours ")));
  EXPECT_THAT(Line(text, "1 "), StartsWith("1 ext4 [1] 9.344 -> 9.394 0.99x"));
  // The first line of a number of threads names it, the next one does not.
  EXPECT_THAT(Line(text, "4 ext4"), StartsWith("4 ext4 [1] 11.008"));
  EXPECT_THAT(Line(text, "xfs [2] 4.269"), StartsWith("xfs [2] 4.269 -> 4.140"));
}

}  // namespace
}  // namespace nfswalk::bench
