#include "nfsclient/protocol/locked_ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace nfswalk::protocol {
namespace {

constexpr LockType kRead = LockType::kRead;
constexpr LockType kWrite = LockType::kWrite;

std::vector<RangeLock> Held(const LockedRanges& ranges) {
  std::vector<RangeLock> held;
  ranges.ForEach([&](const RangeLock& lock) {
    held.push_back(lock);
    return true;
  });
  return held;
}

struct Step {
  std::optional<LockType> type;  // nullopt: unlock
  ByteRange range;
};
struct Case {
  std::vector<Step> steps;
  std::vector<RangeLock> held;
};

constexpr uint64_t kEnd = ByteRange::kEnd;

const Case kCases[] = {
    {{}, {}},
    {{{kRead, {0, 9}}}, {{kRead, {0, 9}}}},
    // Merged: overlapping, touching, of one type.
    {{{kRead, {0, 9}}, {kRead, {5, 19}}}, {{kRead, {0, 19}}}},
    {{{kRead, {0, 9}}, {kRead, {10, 19}}}, {{kRead, {0, 19}}}},
    {{{kRead, {0, 9}}, {kRead, {20, 29}}, {kRead, {10, 19}}}, {{kRead, {0, 29}}}},
    {{{kRead, {0, 9}}, {kWrite, {10, 19}}}, {{kRead, {0, 9}}, {kWrite, {10, 19}}}},
    // Split by an upgrade and a downgrade in the middle, and by an unlock.
    {{{kRead, {0, 29}}, {kWrite, {10, 19}}},
     {{kRead, {0, 9}}, {kWrite, {10, 19}}, {kRead, {20, 29}}}},
    {{{kWrite, {0, 29}}, {kRead, {0, 9}}}, {{kRead, {0, 9}}, {kWrite, {10, 29}}}},
    {{{kWrite, {0, 29}}, {std::nullopt, {10, 19}}}, {{kWrite, {0, 9}}, {kWrite, {20, 29}}}},
    {{{kRead, {0, 29}}, {kWrite, {10, 19}}, {kRead, {10, 19}}}, {{kRead, {0, 29}}}},
    // Unlocks a range that is not locked.
    {{{kRead, {0, 9}}, {std::nullopt, {10, kEnd}}}, {{kRead, {0, 9}}}},
    // To the end.
    {{{kWrite, {5, kEnd}}, {std::nullopt, {7, 7}}}, {{kWrite, {5, 6}}, {kWrite, {8, kEnd}}}},
    {{{kWrite, {kEnd, kEnd}}}, {{kWrite, {kEnd, kEnd}}}},
    {{{kWrite, {0, kEnd}}, {std::nullopt, {0, kEnd}}}, {}},
};

TEST(LockedRanges, AreDisjointAndMerged) {
  for (const Case& of : kCases) {
    LockedRanges ranges;
    for (const Step& step : of.steps) {
      ranges = step.type ? ranges.With({*step.type, step.range}) : ranges.Without(step.range);
    }
    EXPECT_EQ(Held(ranges), of.held) << &of - kCases;
    EXPECT_EQ(ranges.empty(), of.held.empty());
  }
}

TEST(LockedRanges, ConflictUnlessBothAreReadOrTheyDoNotMeet) {
  const LockedRanges ranges =
      LockedRanges().With({kRead, {0, 9}}).With({kWrite, {20, 29}}).With({kRead, {40, kEnd}});
  EXPECT_EQ(ranges.FindConflict({kRead, {0, 19}}), std::nullopt);
  EXPECT_EQ(ranges.FindConflict({kWrite, {10, 19}}), std::nullopt);
  EXPECT_EQ(ranges.FindConflict({kWrite, {9, 19}}), (RangeLock{kRead, {0, 9}}));
  EXPECT_EQ(ranges.FindConflict({kRead, {0, 20}}), (RangeLock{kWrite, {20, 29}}));
  EXPECT_EQ(ranges.FindConflict({kWrite, {30, kEnd}}), (RangeLock{kRead, {40, kEnd}}));
}

// Against one lock a byte.
TEST(LockedRanges, AreWhatAByteWiseModelHas) {
  constexpr uint64_t kBytes = 24;
  constexpr int kSteps = 20'000;
  std::mt19937 random(1);
  std::array<std::optional<LockType>, kBytes> model{};
  LockedRanges ranges;
  const auto number = [&](uint64_t below) { return random() % below; };
  for (int step = 0; step < kSteps; ++step) {
    const uint64_t first = number(kBytes);
    const ByteRange range{first, first + number(kBytes - first)};
    const RangeLock wanted{number(2) == 0 ? kRead : kWrite, range};
    bool conflicts = false, overlaps = false;
    for (uint64_t at = range.first; at <= range.last; ++at) {
      overlaps |= model[at].has_value();
      conflicts |= model[at] && (*model[at] == kWrite || wanted.type == kWrite);
    }
    ASSERT_EQ(ranges.FindConflict(wanted).has_value(), conflicts) << step;
    ASSERT_EQ(ranges.Overlaps(range), overlaps) << step;
    const bool unlock = number(3) == 0;
    ranges = unlock ? ranges.Without(range) : ranges.With(wanted);
    for (uint64_t at = range.first; at <= range.last; ++at) {
      model[at] = unlock ? std::nullopt : std::optional(wanted.type);
    }
    std::vector<RangeLock> expected;
    for (uint64_t at = 0; at < kBytes; ++at) {
      if (!model[at]) continue;
      if (at > 0 && model[at - 1] == model[at]) {
        expected.back().range.last = at;
      } else {
        expected.push_back({*model[at], {at, at}});
      }
    }
    ASSERT_EQ(Held(ranges), expected) << step;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
