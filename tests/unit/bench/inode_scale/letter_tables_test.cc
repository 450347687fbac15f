#include "bench/inode_scale/letter_tables.h"

#include <set>

#include "gtest/gtest.h"

namespace nfswalk::bench {
namespace {

LetterFigure Figure(Letter letter, std::string_view filesystem, std::string_view workload,
                    size_t threads) {
  const auto figure = FindLetterFigure(letter, filesystem, workload, threads);
  EXPECT_TRUE(figure) << filesystem << " " << workload << " " << threads;
  return figure.value_or(LetterFigure{});
}

// All times of one letter and workload, added up.
BeforeAfter Sum(Letter letter, std::string_view workload) {
  BeforeAfter sum;
  for (size_t threads = 1; threads <= 64; ++threads) {
    for (const LetterFigure& figure : LetterFigures(workload, threads)) {
      if (figure.letter != letter) continue;
      sum.before_s += figure.times.before_s;
      sum.after_s += figure.times.after_s;
    }
  }
  return sum;
}

void ExpectSum(Letter letter, std::string_view workload, double before_s, double after_s) {
  const BeforeAfter sum = Sum(letter, workload);
  EXPECT_NEAR(sum.before_s, before_s, 5e-4) << LetterSubject(letter) << " " << workload;
  EXPECT_NEAR(sum.after_s, after_s, 5e-4) << LetterSubject(letter) << " " << workload;
}

// The sums are those of the letters' own columns; a mistyped digit shows.
TEST(LetterTables, ColumnsAddUpToThoseOfTheLetters) {
  ExpectSum(Letter::kVfsScale, "create", 813.706, 800.938);
  ExpectSum(Letter::kVfsScale, "walk", 753.182, 592.878);
  ExpectSum(Letter::kVfsScale, "chmod", 2457.753, 2323.942);
  ExpectSum(Letter::kVfsScale, "unlink", 4625.109, 4561.332);
  ExpectSum(Letter::kVfsScale, "bulkstat", 0, 0);
  ExpectSum(Letter::kIteration, "create", 39.655, 36.825);
  ExpectSum(Letter::kIteration, "walk", 26.573, 16.563);
  ExpectSum(Letter::kIteration, "chmod", 37.518, 31.043);
  ExpectSum(Letter::kIteration, "unlink", 54.387, 53.122);
  ExpectSum(Letter::kIteration, "bulkstat", 30.185, 5.759);
  ExpectSum(Letter::kRcuLookup, "fstree", 46.118 + 45.549, 21.581 + 37.932);
}

TEST(LetterTables, TheRatiosTheLettersSpeakOfFollow) {
  EXPECT_NEAR(Figure(Letter::kIteration, "xfs", "bulkstat", 64).Ratio(), 12.2, 0.05);
  EXPECT_NEAR(Figure(Letter::kVfsScale, "xfs", "walk", 32).Ratio(), 1.99, 0.005);
  EXPECT_NEAR(Figure(Letter::kVfsScale, "ext4", "walk", 16).Ratio(), 2.58, 0.005);
  EXPECT_NEAR(Figure(Letter::kVfsScale, "btrfs-svol", "walk", 32).Ratio(), 4.06, 0.005);
  // "-53%" and "-16.7%".
  EXPECT_NEAR(1 - 1 / Figure(Letter::kRcuLookup, "ext4", "fstree", 20).Ratio(), 0.53, 0.005);
  EXPECT_NEAR(1 - 1 / Figure(Letter::kRcuLookup, "btrfs", "fstree", 20).Ratio(), 0.167, 0.0005);
}

TEST(LetterTables, TheStreamingHeadlineComparesALongerRun) {
  const LetterFigure table = Figure(Letter::kIteration, "xfs", "bulkstat", 64);
  const double before = static_cast<double>(table.files) / table.times.before_s;
  EXPECT_NEAR(before, 413e3, 500);
  EXPECT_NEAR(kLongBulkstat.PerSecond() / before, 17.6, 0.05);
}

TEST(LetterTables, SystemTimeTellsTheSameStoryAsTheClock) {
  EXPECT_EQ(kFstreeTimes[0].filesystem, "ext4");
  EXPECT_NEAR(kFstreeTimes[0].system.Ratio(), 2.24, 0.005);
  EXPECT_NEAR(kFstreeTimes[1].system.Ratio(), 1.21, 0.005);
}

TEST(LetterTables, AThreadCountFindsEveryLetterThatHasIt) {
  std::multiset<std::string_view> filesystems;
  for (const LetterFigure& figure : LetterFigures("walk", 32)) {
    filesystems.insert(figure.filesystem);
    EXPECT_EQ(figure.files, figure.letter == Letter::kIteration ? 3'200'000U : 12'800'000U);
  }
  EXPECT_EQ(filesystems, (std::multiset<std::string_view>{"xfs", "ext4", "bcachefs", "btrfs",
                                                          "btrfs-svol", "xfs"}));
  EXPECT_EQ(LetterFigures("bulkstat", 32).size(), 1U);
  EXPECT_EQ(LetterFigures("fstree", 20).size(), 2U);
}

TEST(LetterTables, WhatNoLetterReportsIsNotFound) {
  EXPECT_TRUE(LetterFigures("walk", 3).empty());
  EXPECT_TRUE(LetterFigures("walk", 0).empty());
  EXPECT_TRUE(LetterFigures("bulkstat", 2).empty());
  EXPECT_TRUE(LetterFigures("rename", 4).empty());
  EXPECT_FALSE(FindLetterFigure(Letter::kVfsScale, "xfs", "bulkstat", 4));
  EXPECT_FALSE(FindLetterFigure(Letter::kIteration, "ext4", "walk", 4));
}

}  // namespace
}  // namespace nfswalk::bench
