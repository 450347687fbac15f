#include "bench/make_replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

namespace nfswalk::bench {
namespace {

// Answers what it is asked for, but for one line of the trace.
class EchoSubject final : public Subject {
 public:
  explicit EchoSubject(uint32_t wrong_line = 0) : wrong_line_(wrong_line) {}
  std::string_view subject() const override { return "echo"; }
  std::string_view mode() const override { return "-"; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    if (refuses) return std::unexpected(std::string("refused"));
    return std::make_unique<Thread>(*this);
  }
  bool refuses = false;
  std::atomic<uint64_t> asked = 0;

 private:
  class Thread final : public SubjectThread {
   public:
    explicit Thread(EchoSubject& subject) : subject_(subject) {}
    Answer Ask(const Call& call, std::span<char> link_text) override {
      subject_.asked.fetch_add(1);
      if (call.trace_line == subject_.wrong_line_) return {.error = EIO};
      if (call.kind != CallKind::kReadLink) {
        return {.error = call.error, .mode = call.mode, .size_bytes = call.size_bytes};
      }
      std::ranges::copy(call.link_text, link_text.begin());
      return {.error = call.error, .size_bytes = call.link_text.size()};
    }

   private:
    EchoSubject& subject_;
  };
  const uint32_t wrong_line_;
};

Call MakeCall(CallKind kind, std::string_view path, uint32_t line, int16_t error = 0) {
  Call call{};
  call.kind = kind;
  call.path = path;
  call.trace_line = line;
  call.error = error;
  return call;
}

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() {
    plan_.calls = {MakeCall(CallKind::kStat, "/f", 1), MakeCall(CallKind::kReadLink, "/l", 2),
                   MakeCall(CallKind::kStat, "/gone", 3, ENOENT),
                   MakeCall(CallKind::kAccess, "/f", 5)};
    plan_.calls[0].mode = S_IFREG | 0644;
    plan_.calls[0].size_bytes = 3;
    plan_.calls[1].link_text = "f";
    plan_.lots = {{0, 2}, {2, 4}};
    plan_.listings = {MakeCall(CallKind::kReadDir, "/d", 4)};
  }

  ReplayPlan plan_;
};

TEST_F(ReplayTest, OnePassAsksEachCallAndListingOnce) {
  EchoSubject subject;
  const auto pass = ReplayOnce(subject, plan_, 3, 1, 0);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_EQ(pass->turn.ops, 5u);
  EXPECT_EQ(subject.asked, 5u);
  EXPECT_EQ(pass->mismatches, 0u);
  EXPECT_EQ(pass->latencies_ns.size(), 4u) << "of all but the listing";
  EXPECT_EQ(ReplayOnce(subject, plan_, 1, 2, 0)->turn.ops, 3u) << "every other call, the listing";
}

TEST_F(ReplayTest, AWrongAnswerIsCountedAndToldWithItsLine) {
  for (const auto& [line, text] : {
           std::pair{1, "line 1: stat /f: recorded mode 100644, size 3, got Input/output error"},
           std::pair{2, "line 2: readlink /l: recorded \"f\", got Input/output error"},
           std::pair{3,
                     "line 3: stat /gone: recorded No such file or directory, got "
                     "Input/output error"},
           std::pair{5, "line 5: access /f: recorded success, got Input/output error"},
       }) {
    EchoSubject subject(static_cast<uint32_t>(line));
    const auto pass = ReplayOnce(subject, plan_, 1, 1, 0);
    ASSERT_TRUE(pass) << pass.error();
    EXPECT_EQ(pass->mismatches, 1u);
    EXPECT_EQ(pass->first_mismatches, std::vector<std::string>{text});
  }
}

TEST_F(ReplayTest, TimedTurnsGoRoundAndLeaveListingsOut) {
  EchoSubject subject(4);  // the listing would be wrong
  const auto pass = ReplayFor(subject, plan_, 2, 0.01);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_GT(pass->turn.ops, 8u);
  EXPECT_LT(pass->turn.ops, subject.asked) << "the warm-up does not count";
  EXPECT_GE(pass->turn.seconds, 0.01);
  EXPECT_EQ(pass->mismatches, 0u);
  EXPECT_FALSE(pass->latencies_ns.empty());
}

TEST_F(ReplayTest, AThreadThatCannotStartFailsTheTurn) {
  EchoSubject subject;
  subject.refuses = true;
  EXPECT_EQ(ReplayOnce(subject, plan_, 2, 1, 0).error(), "refused");
  EXPECT_EQ(ReplayFor(subject, plan_, 2, 0.01).error(), "refused");
}

TEST(Matches, EveryComparedPartOfAnAnswerCounts) {
  Call stat = MakeCall(CallKind::kStat, "/f", 1);
  stat.size_bytes = 3;
  stat.mode = 0100644;
  EXPECT_TRUE(Matches(stat, {.mode = 0100644, .size_bytes = 3}, ""));
  EXPECT_FALSE(Matches(stat, {.mode = 0100600, .size_bytes = 3}, ""));
  EXPECT_FALSE(Matches(stat, {.mode = 0040644, .size_bytes = 3}, ""));
  EXPECT_FALSE(Matches(stat, {.mode = 0100644, .size_bytes = 4}, ""));
  EXPECT_FALSE(Matches(stat, {.error = ENOENT}, ""));
  Call directory = MakeCall(CallKind::kStat, "/d", 1);
  directory.mode = 0040755;
  EXPECT_TRUE(Matches(directory, {.mode = 0040755, .size_bytes = 4096}, ""));
  Call link = MakeCall(CallKind::kReadLink, "/l", 1);
  link.link_text = "f";
  EXPECT_TRUE(Matches(link, {.size_bytes = 1}, "f"));
  EXPECT_FALSE(Matches(link, {.size_bytes = 1}, "g"));
  EXPECT_FALSE(Matches(link, {.size_bytes = 2}, "fg"));
}

}  // namespace
}  // namespace nfswalk::bench
