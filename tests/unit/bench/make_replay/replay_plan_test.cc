#include "bench/make_replay/replay_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace nfswalk::bench {
namespace {

struct Planned {
  size_t calls = 0;
  size_t conflicting = 0;
  size_t changed = 0;
  size_t special = 0;
};

Trace Parsed(std::string_view text) {
  auto trace = ParseTrace(text);
  EXPECT_TRUE(trace) << trace.error();
  return trace ? std::move(*trace) : Trace{};
}

Planned Plan(std::string_view text, bool special_files = true) {
  const ReplayPlan plan(Parsed(text), special_files);
  const auto of = [&](LeftOut reason) { return plan.left_out()[static_cast<size_t>(reason)]; };
  return {plan.calls().size(), of(LeftOut::kConflictingAnswers), of(LeftOut::kChangedByTrace),
          of(LeftOut::kSpecialFile)};
}

TEST(ReplayPlanTest, AnswersThatOneTreeCanGiveAreAllReplayed) {
  const Planned plan = Plan(
      "5 stat(\"/d/f\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n"
      "5 stat(\"/d/none\", 0x1) = -1 ENOENT (No such)\n"
      "5 stat(\"/d/f/x\", 0x1) = -1 ENOTDIR (Not a directory)\n"
      "5 access(\"/d/f\", R_OK|W_OK) = 0\n"
      "5 access(\"/d/f\", X_OK) = -1 EACCES (Permission denied)\n"
      "5 readlink(\"/d/f\", 0x1, 4096) = -1 EINVAL (Invalid argument)\n"
      "5 open(\"/d/f\", O_RDONLY) = 3</d/f>\n");
  EXPECT_EQ(plan.calls, 7U);
  EXPECT_EQ(plan.conflicting, 0U);
}

TEST(ReplayPlanTest, APathThatWasThereAndWasNotIsLeftOutWholly) {
  const Planned plan = Plan(
      "5 stat(\"/f\", 0x1) = -1 ENOENT (No such)\n"
      "5 stat(\"/f\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n"
      "5 stat(\"/g\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n");
  EXPECT_EQ(plan.calls, 1U);
  EXPECT_EQ(plan.conflicting, 2U);
}

TEST(ReplayPlanTest, AReadlinkThatMissedAFileWhichStatFoundIsLeftOutWithIt) {
  const Planned plan = Plan(
      "5 stat(\"/f\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n"
      "5 readlink(\"/f\", 0x1, 4096) = -1 ENOENT (No such)\n");
  EXPECT_EQ(plan.calls, 0U);
  EXPECT_EQ(plan.conflicting, 2U);
}

TEST(ReplayPlanTest, TwoTextsOfOneLinkAreLeftOut) {
  const Planned plan = Plan(
      "5 readlink(\"/l\", \"a\", 4096) = 1\n"
      "5 readlink(\"/l\", \"b\", 4096) = 1\n");
  EXPECT_EQ(plan.calls, 0U);
  EXPECT_EQ(plan.conflicting, 2U);
}

TEST(ReplayPlanTest, WhatTheTraceChangesIsLeftOutAndTheDirectoryAroundItIsNot) {
  const Planned plan = Plan(
      "5 stat(\"/d\", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n"
      "5 stat(\"/d/t\", 0x1) = -1 ENOENT (No such)\n"
      "5 mkdir(\"/d/t\", 0777) = 0\n"
      "5 stat(\"/d/t\", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n");
  EXPECT_EQ(plan.calls, 1U);
  EXPECT_EQ(plan.changed, 2U);
}

TEST(ReplayPlanTest, DevicesAreReplayedOnlyWhereTheyCanBeMade) {
  const char* text =
      "5 stat(\"/dev/null\", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0\n";
  EXPECT_EQ(Plan(text, true).calls, 1U);
  EXPECT_EQ(Plan(text, false).calls, 0U);
  EXPECT_EQ(Plan(text, false).special, 1U);
}

TEST(ReplayPlanTest, TheRecordedAnswerIsWhatIsCompared) {
  const ReplayPlan plan(
      Parsed("5 lstat(\"/f\", {st_mode=S_IFREG|S_ISUID|0755, st_size=9, ...}) = 0\n"
             "5 stat(\"/d\", {st_mode=S_IFDIR|0755, st_size=9, ...}) = 0\n"
             "5 stat(\"/none\", 0x1) = -1 ENOENT (No such)\n"),
      true);
  ASSERT_EQ(plan.calls().size(), 3U);
  EXPECT_EQ(plan.calls()[0].path, "/f");
  EXPECT_EQ(plan.calls()[0].path.data()[2], '\0');
  EXPECT_EQ(plan.calls()[0].mode, S_IFREG | S_ISUID | 0755);
  EXPECT_EQ(plan.calls()[0].size_bytes, 9U);
  EXPECT_TRUE(plan.calls()[0].no_follow);
  EXPECT_EQ(plan.calls()[1].size_bytes, kSizeNotCompared);
  EXPECT_EQ(plan.calls()[2].error, ENOENT);
}

TEST(ReplayPlanTest, TheCallsOfAProcessStayTogetherAndInOrder) {
  const ReplayPlan plan(Parsed("5 stat(\"/a\", 0x1) = -1 ENOENT (No such)\n"
                               "6 stat(\"/b\", 0x1) = -1 ENOENT (No such)\n"
                               "5 stat(\"/c\", 0x1) = -1 ENOENT (No such)\n"),
                        true);
  EXPECT_EQ(plan.streams(), 2U);
  ASSERT_EQ(plan.calls().size(), 3U);
  EXPECT_EQ(plan.calls()[0].path, "/a");
  EXPECT_EQ(plan.calls()[1].path, "/c");
  EXPECT_EQ(plan.calls()[2].path, "/b");
  ASSERT_EQ(plan.lots().size(), 1U);
  EXPECT_EQ(plan.lots()[0].end, 3U);
}

TEST(ReplayPlanTest, EveryReadOnlyCallIsReplayedOrCountedAsLeftOut) {
  const auto trace = LoadTrace("bench/traces/git-null.strace.xz");
  ASSERT_TRUE(trace) << trace.error();
  const ReplayPlan plan(*trace, true);
  uint64_t asked = 0;
  uint64_t left_out_in_parsing = 0;
  uint64_t left_out = 0;
  for (const Call& call : trace->calls) {
    asked += call.kind != CallKind::kChange && call.kind != CallKind::kExecute ? 1 : 0;
  }
  for (const uint64_t count : trace->left_out) left_out_in_parsing += count;
  for (const uint64_t count : plan.left_out()) left_out += count;
  EXPECT_EQ(plan.calls().size() + plan.listings().size() + left_out, asked + left_out_in_parsing);
  // Nearly all: a plan that leaves out much proves little.
  EXPECT_LT(left_out * 200, asked);
}

}  // namespace
}  // namespace nfswalk::bench
