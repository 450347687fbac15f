// The two recordings that the replay ships with: what is in them must not get lost in parsing. The
// figures were counted with grep in the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/trace/trace.h"

namespace nfswalk::bench {
namespace {

struct Recording {
  const char* file;
  uint64_t lines;
  uint64_t stat_calls;
  uint64_t noent_answers;
  uint64_t left_out_max;  // while parsing; most are fstat of pipes
};

class ShippedTracesTest : public testing::TestWithParam<Recording> {};

TEST_P(ShippedTracesTest, NothingIsLostAndEveryPathIsAbsolute) {
  const Recording& recording = GetParam();
  const auto trace = LoadTrace(recording.file);
  ASSERT_TRUE(trace) << trace.error();
  EXPECT_EQ(trace->lines, recording.lines);
  EXPECT_EQ(trace->stat_calls, recording.stat_calls);
  EXPECT_EQ(trace->noent_answers, recording.noent_answers);
  EXPECT_EQ(trace->truncated_last_lines, 0U);
  EXPECT_EQ(trace->resumed_without_start, 0U);
  const auto stats = std::ranges::count(trace->calls, CallKind::kStat, &Call::kind);
  uint64_t left_out = 0;
  for (const uint64_t count : trace->left_out) left_out += count;
  EXPECT_LE(left_out, recording.left_out_max);
  EXPECT_GE(static_cast<uint64_t>(stats) + left_out, recording.stat_calls);
  for (const Call& call : trace->calls) {
    ASSERT_TRUE(call.path.starts_with('/')) << "line " << call.line;
    ASSERT_NE(call.pid, 0U) << "line " << call.line;
  }
  EXPECT_EQ(trace->left_out[static_cast<size_t>(LeftOut::kDirectoryUnknown)], 0U);
}

INSTANTIATE_TEST_SUITE_P(
    NullMake, ShippedTracesTest,
    testing::Values(Recording{"bench/traces/git-null.strace.xz", 20109, 15396, 1072, 17},
                    Recording{"bench/traces/linux-null.strace.xz", 299575, 258705, 178449, 131}),
    [](const auto& info) { return info.index == 0 ? "Git" : "Linux"; });

}  // namespace
}  // namespace nfswalk::bench
