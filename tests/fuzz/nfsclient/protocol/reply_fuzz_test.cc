// Mutated replies of both versions: neither libnfs nor the decoders read beyond a reply, and
// replies that decode satisfy reply_invariants.h.
//
// Seeded: failures repeat. A failure prints seed, round and bytes.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nfsclient/protocol/xdr_guard.h"
#include "tests/fuzz/nfsclient/protocol/reply_mutator.h"
#include "tests/fuzz/nfsclient/protocol/reply_sample.h"

namespace nfswalk::protocol {
namespace {

constexpr uint64_t kSeed = 20240101;
// For each version.
#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 30'000;  // slow, and there is one thread
#else
constexpr int kRounds = 600'000;
#endif

struct Version {
  std::string name;
  std::vector<ReplySample> samples;
};

class ReplyFuzz : public testing::TestWithParam<Version> {};

TEST_P(ReplyFuzz, UsesTheXdrGuard) { EXPECT_TRUE(XdrGuardIsInPlace()); }

TEST_P(ReplyFuzz, ValidRepliesPass) {
  for (const ReplySample& sample : GetParam().samples) {
    const FeedResult result = sample.feed(sample.bytes);
    EXPECT_TRUE(result.parsed) << sample.name;
    EXPECT_EQ(result.error, sample.error) << sample.name;
    EXPECT_EQ(result.violation, "") << sample.name;
  }
}

TEST_P(ReplyFuzz, EveryPrefixOfAReplyIsRefusedOrValid) {
  for (const ReplySample& sample : GetParam().samples) {
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      const FeedResult result = sample.feed(sample.bytes.substr(0, size));
      EXPECT_EQ(result.violation, "") << sample.name << " cut to " << size;
    }
  }
}

// WIRE-7.
TEST_P(ReplyFuzz, MutatedRepliesAreRefusedOrValid) {
  ReplyMutator mutator(GetParam().samples, kSeed);
  int unreadable = 0;
  int refused = 0;
  int passed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const ReplySample& sample = mutator.RandomSample();
    const std::string bytes = mutator.Mutated(sample);
    const FeedResult result = sample.feed(bytes);
    ASSERT_EQ(result.violation, "") << sample.name << ", seed " << kSeed << ", round " << round
                                    << ": " << testing::PrintToString(bytes);
    ++(!result.parsed ? unreadable : result.error == std::errc{} ? passed : refused);
  }
  // libnfs and the decoders both refuse some replies, and some pass.
  EXPECT_GT(unreadable, kRounds / 20);
  EXPECT_GT(refused, kRounds / 20);
  EXPECT_GT(passed, kRounds / 20);
}

INSTANTIATE_TEST_SUITE_P(Of, ReplyFuzz,
                         testing::Values(Version{"Nfs3", Nfs3Samples()},
                                         Version{"Nfs4", Nfs4Samples()}),
                         [](const auto& version) { return version.param.name; });

}  // namespace
}  // namespace nfswalk::protocol
