// Damaged replies of both versions: whatever a server sends, libnfs and the decoders behind the
// guard read no byte that is not there, and what passes keeps what the headers promise.
//
// Seeded, so that a failure repeats; seed, round and bytes are in the message.

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
// Of each version.
#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 30'000;  // it is slow, and one thread races with nobody
#else
constexpr int kRounds = 600'000;
#endif

std::string Hex(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex += kDigits[static_cast<uint8_t>(byte) >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

struct Version {
  std::string name;
  std::vector<ReplySample> samples;
};

class ReplyFuzz : public testing::TestWithParam<Version> {};

TEST_P(ReplyFuzz, GoesThroughTheGuard) { EXPECT_TRUE(XdrGuardIsInPlace()); }

TEST_P(ReplyFuzz, ValidRepliesPass) {
  for (const ReplySample& sample : GetParam().samples) {
    const Fed fed = sample.feed(sample.bytes);
    EXPECT_TRUE(fed.parsed) << sample.name;
    EXPECT_EQ(fed.error, sample.error) << sample.name;
    EXPECT_EQ(fed.broken, "") << sample.name;
  }
}

TEST_P(ReplyFuzz, EveryBeginningOfAReplyIsRefusedOrSound) {
  for (const ReplySample& sample : GetParam().samples) {
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      const Fed fed = sample.feed(sample.bytes.substr(0, size));
      EXPECT_EQ(fed.broken, "") << sample.name << " cut to " << size;
    }
  }
}

// WIRE-7.
TEST_P(ReplyFuzz, DamagedRepliesAreRefusedOrSound) {
  ReplyMutator mutator(GetParam().samples, kSeed);
  int unreadable = 0;
  int refused = 0;
  int passed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const ReplySample& sample = mutator.SomeSample();
    const std::string bytes = mutator.Damaged(sample);
    const Fed fed = sample.feed(bytes);
    ASSERT_EQ(fed.broken, "") << sample.name << ", seed " << kSeed << ", round " << round << ": "
                              << Hex(bytes);
    ++(!fed.parsed ? unreadable : fed.error == std::errc{} ? passed : refused);
  }
  // The damage is neither always fatal nor always harmless, and both parts refuse.
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
