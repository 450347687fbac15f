// Damaged traces: whatever a file holds, parsing it ends, and what comes out can be built and
// replayed.
//
// Seeded, so that a failure repeats; the seed and the round are in the message.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>

#include "bench/make_replay/replay_plan.h"
#include "bench/trace/trace.h"
#include "bench/trace/trace_text.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kSeed = 20230612;
constexpr int kRounds = 20000;
constexpr size_t kLinesOfARound = 60;
constexpr int kDamagesMax = 8;

// Pieces that the grammar gives a meaning to.
constexpr auto kPieces =
    std::to_array<std::string_view>({"\"",
                                     "\\",
                                     "\\0",
                                     "\\377",
                                     "<",
                                     ">",
                                     "(",
                                     ")",
                                     "{",
                                     "}",
                                     "=",
                                     " = ",
                                     ", ",
                                     "...",
                                     "..",
                                     "/",
                                     "AT_FDCWD",
                                     "<unfinished ...>",
                                     "<... stat resumed>",
                                     "S_IFLNK",
                                     "S_IFREG",
                                     "st_size=",
                                     "-1 ",
                                     "ENOENT",
                                     "\n",
                                     " ",
                                     "7 ",
                                     "readlink(\"/usr/lib\", \"../x\", 9) = 4\n",
                                     "(deleted)"});

class Damager {
 public:
  explicit Damager(std::string_view corpus) : corpus_(corpus), random_(kSeed) {}

  std::string Next() {
    std::string text = SomeLines();
    for (int left = 1 + static_cast<int>(Below(kDamagesMax)); left > 0; --left) Damage(text);
    return text;
  }

 private:
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }

  std::string SomeLines() {
    size_t begin = corpus_.find('\n', Below(corpus_.size() / 2)) + 1;
    size_t end = begin;
    for (size_t lines = 1 + Below(kLinesOfARound); lines > 0 && end < corpus_.size(); --lines) {
      end = std::min(corpus_.find('\n', end), corpus_.size() - 1) + 1;
    }
    return std::string(corpus_.substr(begin, end - begin));
  }

  void Damage(std::string& text) {
    if (text.empty()) return;
    const size_t at = Below(text.size());
    switch (Below(5)) {
      case 0:
        text[at] = static_cast<char>(Below(256));
        return;
      case 1:
        text.erase(at, 1 + Below(20));
        return;
      case 2:
        text.insert(at, kPieces[Below(kPieces.size())]);
        return;
      case 3:
        text.resize(at);
        return;
      default:
        text.insert(at, SomeLines());
    }
  }

  const std::string_view corpus_;
  std::mt19937_64 random_;
};

void ExpectSound(const Trace& trace) {
  for (const Call& call : trace.calls) {
    EXPECT_TRUE(call.path.starts_with('/')) << call.path;
    EXPECT_EQ(call.path.find('\0'), std::string::npos);
  }
  const ReplayPlan plan(trace, true);
  for (const std::string& path : plan.tree().SortedPaths()) {
    const TreeNode& node = *plan.tree().Find(path);
    const TreeNode* parent = plan.tree().Find(ParentOf(path));
    ASSERT_NE(parent, nullptr) << path;
    EXPECT_EQ(parent->type, static_cast<uint32_t>(S_IFDIR)) << path;
    EXPECT_TRUE(node.permissions && node.size_bytes) << path;
    EXPECT_EQ(node.type == S_IFLNK, node.link_text.has_value()) << path;
  }
}

TEST(TraceFuzzTest, DamagedTracesAreRefusedByLineOrUnderstoodSoundly) {
  const auto corpus = ReadTraceText("bench/traces/git-null.strace.xz");
  ASSERT_TRUE(corpus) << corpus.error();
  Damager damager(*corpus);
  int refused = 0;
  int understood = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const std::string text = damager.Next();
    const auto trace = ParseTrace(text);
    if (trace) {
      ++understood;
      ExpectSound(*trace);
    } else {
      ++refused;
      EXPECT_TRUE(trace.error().starts_with("line ")) << trace.error();
    }
  }
  // The damage is neither always fatal nor always harmless.
  EXPECT_GT(refused, kRounds / 20);
  EXPECT_GT(understood, kRounds / 20);
}

}  // namespace
}  // namespace nfswalk::bench
