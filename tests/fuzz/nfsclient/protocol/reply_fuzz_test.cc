// Mutated replies of both versions: neither libnfs nor the decoders read beyond a reply, and
// replies that decode satisfy reply_invariants.h.
//
// Seeded: failures repeat. A failure prints seed, round and bytes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "nfsclient/protocol/xdr_guard.h"
#include "tests/fuzz/nfsclient/protocol/reply_sample.h"
#include "tests/unit/nfsclient/protocol/fake_server.h"

namespace nfswalk::protocol {
namespace {

constexpr uint64_t kSeed = 20240101;
// For each version.
#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 30'000;  // slow, and there is one thread
#else
constexpr int kRounds = 600'000;
#endif

// Mutates valid replies into those of a hostile or broken server.
class ReplyMutator {
 public:
  // `samples` must outlive it. Deterministic for one seed.
  ReplyMutator(std::span<const ReplySample> samples, uint64_t seed)
      : samples_(samples), random_(seed) {}

  const ReplySample& RandomSample() { return samples_[Below(samples_.size())]; }

  std::string Mutated(const ReplySample& sample) {
    std::string bytes = sample.bytes;
    // Mostly one mutation: the first detected hides the others.
    for (size_t left = Below(2) ? 1 : 1 + Below(kMutationsMax); left > 0; --left) Mutate(bytes);
    return bytes;
  }

 private:
  static constexpr size_t kMutationsMax = 6;
  static constexpr size_t kPieceWordsMax = 40;
  // Near the limits of types, handles, names, data and integers.
  static constexpr uint32_t kExtremes[] = {
      0, 1, 2, 3, 4, 5,
      // Handles, names and link texts
      63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4096, 4097,
      // Lengths and nanoseconds
      1u << 20, 1u << 30, 0x3fffffff, 1'000'000'000, 0x7ffffffc, 0x7fffffff, 0x80000000, 0x80000001,
      0xfffffffc, 0xfffffffe, 0xffffffff};

  size_t Below(size_t bound) { return random_() % bound; }
  size_t RandomWordOffset(const std::string& bytes) { return Below(bytes.size() / 4 + 1) * 4; }

  void Mutate(std::string& bytes) {
    if (bytes.empty()) return;
    switch (Below(8)) {
      case 0:
      case 1:
        bytes[Below(bytes.size())] ^= static_cast<char>(1 << Below(8));
        return;
      case 2:
        bytes[Below(bytes.size())] = static_cast<char>(Below(256));
        return;
      case 3:
      case 4:
        return Replace(bytes, kExtremes[Below(std::size(kExtremes))]);
      case 5:
        return bytes.resize(Below(bytes.size()));
      case 6:
        bytes.erase(std::min(RandomWordOffset(bytes), bytes.size()),
                    4 * (1 + Below(kPieceWordsMax)));
        return;
      default:
        return Splice(bytes);
    }
  }

  void Replace(std::string& bytes, uint32_t value) {
    const std::string word = Xdr().U32(value).str();
    bytes.replace(std::min(RandomWordOffset(bytes), bytes.size()), word.size(), word);
  }

  // Inserts a piece of any reply, or overwrites with it.
  void Splice(std::string& bytes) {
    const std::string& other = RandomSample().bytes;
    const size_t from = std::min(RandomWordOffset(other), other.size());
    const std::string piece = other.substr(from, 4 * (1 + Below(kPieceWordsMax)));
    const size_t at = std::min(RandomWordOffset(bytes), bytes.size());
    bytes.replace(at, Below(2) ? piece.size() : 0, piece);
  }

  const std::span<const ReplySample> samples_;
  std::mt19937_64 random_;
};

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
