#include "bench/make_replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "bench/make_replay/report.h"

namespace nfswalk::bench {
namespace {

// Answers what it is asked for, but for one line of the trace.
class EchoSubject final : public Subject {
 public:
  explicit EchoSubject(uint32_t wrong_line = 0) : wrong_line_(wrong_line) {}
  std::string_view subject() const override { return "echo"; }
  std::string_view mode() const override { return "-"; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    if (refuses) return std::unexpected(std::string("no hands"));
    return std::make_unique<Thread>(*this);
  }
  bool refuses = false;
  std::atomic<uint64_t> asked = 0;

 private:
  class Thread final : public SubjectThread {
   public:
    explicit Thread(EchoSubject& subject) : subject_(subject) {}
    Answer Ask(const ReplayCall& call, std::span<char> link_text) override {
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

ReplayPlan PlanOf(std::string_view text) {
  const auto trace = ParseTrace(text);
  EXPECT_TRUE(trace) << trace.error();
  return ReplayPlan(*trace, true);
}

class ReplayTest : public testing::Test {
 protected:
  const ReplayPlan plan_ = PlanOf(
      "1 stat(\"/f\", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0\n"
      "1 readlink(\"/l\", \"f\", 9) = 1\n"
      "2 stat(\"/gone\", 0x1) = -1 ENOENT (No such file or directory)\n"
      "2 getdents64(3</d>, 0x1 /* 2 entries */, 9) = 48\n"
      "2 access(\"/f\", R_OK) = 0\n");
  std::atomic<bool> stop_ = false;
};

TEST_F(ReplayTest, OnePassAsksEachCallAndListingOnce) {
  EchoSubject subject;
  const auto pass = RunOnce(subject, plan_, 3, 1, stop_);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_EQ(pass->ops, 5U);
  EXPECT_EQ(subject.asked, 5U);
  EXPECT_EQ(pass->mismatches, 0U);
}

TEST_F(ReplayTest, AWrongAnswerIsCountedAndToldWithItsLine) {
  EchoSubject subject(3);
  const auto pass = RunOnce(subject, plan_, 1, 1, stop_);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_EQ(pass->mismatches, 1U);
  ASSERT_EQ(pass->first_mismatches.size(), 1U);
  EXPECT_EQ(MismatchText(pass->first_mismatches.front()),
            "line 3: stat /gone: recorded No such file or directory, got Input/output error");
}

TEST_F(ReplayTest, TimedTurnsGoRoundAndLeaveListingsOut) {
  EchoSubject subject(4);  // the listing would be wrong
  const auto pass = RunFor(subject, plan_, 2, 0.01, stop_);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_GT(pass->ops, 8U);
  EXPECT_EQ(pass->mismatches, 0U);
  EXPECT_FALSE(pass->latencies_ns.empty());
}

TEST_F(ReplayTest, AStoppedTurnEndsLongBeforeItsTime) {
  EchoSubject subject;
  stop_ = true;
  const auto pass = RunFor(subject, plan_, 2, 3600, stop_);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_LE(pass->ops, 2U);
}

TEST_F(ReplayTest, AThreadThatCannotStartFailsTheTurn) {
  EchoSubject subject;
  subject.refuses = true;
  const auto pass = RunOnce(subject, plan_, 2, 1, stop_);
  ASSERT_FALSE(pass);
  EXPECT_EQ(pass.error(), "no hands");
}

TEST(MatchesTest, EveryComparedPartOfAnAnswerCounts) {
  const ReplayCall stat{.path = "/f", .link_text = {}, .size_bytes = 3, .mode = 0100644};
  EXPECT_TRUE(Matches(stat, {.mode = 0100644, .size_bytes = 3}, ""));
  EXPECT_FALSE(Matches(stat, {.mode = 0100600, .size_bytes = 3}, ""));
  EXPECT_FALSE(Matches(stat, {.mode = 0040644, .size_bytes = 3}, ""));
  EXPECT_FALSE(Matches(stat, {.mode = 0100644, .size_bytes = 4}, ""));
  EXPECT_FALSE(Matches(stat, {.error = ENOENT}, ""));
  const ReplayCall directory{.path = "/d", .link_text = {}, .mode = 0040755};
  EXPECT_TRUE(Matches(directory, {.mode = 0040755, .size_bytes = 4096}, ""));
  const ReplayCall link{.path = "/l", .link_text = "f", .kind = CallKind::kReadLink};
  EXPECT_TRUE(Matches(link, {.size_bytes = 1}, "f"));
  EXPECT_FALSE(Matches(link, {.size_bytes = 1}, "g"));
  EXPECT_FALSE(Matches(link, {.size_bytes = 2}, "fg"));
}

TEST(ReportTest, RatesAreMediansAndTimesAreThoseOfOneCore) {
  Row row{.trace = "t", .subject = "s", .mode = "m", .threads = 4};
  for (const uint64_t ops : {100, 400, 200}) {
    AddTurn(row, {.ops = ops, .seconds = 1, .cpu_seconds = 1}, {}, {});
  }
  EXPECT_EQ(MedianOpsPerSecond(row), 200);
  EXPECT_EQ(row.ops, 700U);
  EXPECT_EQ(NsPerOp(row, 2), 1e7);  // two cores for a second, 200 calls
  EXPECT_EQ(CpuShare(row, 2), 0.5);
}

TEST(ReportTest, PercentilesAreOrderStatistics) {
  std::vector<uint32_t> samples = {5, 1, 4, 2, 3};
  EXPECT_EQ(Percentile(samples, 0.5), 3U);
  EXPECT_EQ(Percentile(samples, 1), 5U);
  samples.clear();
  EXPECT_EQ(Percentile(samples, 0.5), 0U);
}

}  // namespace
}  // namespace nfswalk::bench
