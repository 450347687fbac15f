#include "bench/make_replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>

#include "bench/make_replay/plan.h"

namespace nfswalk::bench {
namespace {

using testing::HasSubstr;

constexpr const char* kPlan =
    "nfswalk-plan 2\n"
    "trace git-null\n"
    "coverage {\"lines\": 9}\n"
    "coverage-without-special {\"lines\": 8}\n"
    "node d 755 0 0 0 /\n"
    "node d 700 0 0 0 /a\\x20b\n"
    "node f 4755 9 0 0 /a\\x20b/f\n"
    "node l 777 1 0 0 /l f\n"
    "node c 666 0 1 3 /n\n"
    "string /a\\x20b/f\n"
    "string f\n"
    "string /l\n"
    "string /n\n"
    "lot\n"
    "stat n 0 0 104755 9 1 0\n"
    "readlink n 0 0 0 - 3 2 1\n"
    "lot\n"
    "stat s 0 0 20666 - 5 3\n"
    "lot\n"
    "access - 13 5 0 - 6 0\n"
    "stat - 2 0 0 - 7 3\n"
    "listings\n"
    "getdents64 n 0 0 0 - 8 0\n"
    "end 6\n";

std::expected<ReplayPlan, std::string> Load(const std::string& text, bool special_files = true) {
  const std::string file = testing::TempDir() + "/plan";
  std::ofstream(file, std::ios::binary) << text;
  return LoadPlan(file, special_files);
}

TEST(ReplayPlan, HoldsTheTreeTheCallsAndTheLots) {
  const auto plan = Load(kPlan);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->trace, "git-null");
  EXPECT_EQ(plan->coverage, "{\"lines\": 9}");
  ASSERT_EQ(plan->tree.size(), 5u);
  EXPECT_EQ(plan->tree.at("").type, uint32_t{S_IFDIR});
  const FileNode& file = plan->tree.at("/a b/f");
  EXPECT_EQ(file.type, uint32_t{S_IFREG});
  EXPECT_EQ(file.permissions, 04755u);
  EXPECT_EQ(file.size_bytes, 9u);
  EXPECT_EQ(plan->tree.at("/l").link_text, "f");
  EXPECT_EQ(plan->tree.at("/n").rdev_minor, 3u);
  ASSERT_EQ(plan->calls.size(), 5u);
  const Call& stat = plan->calls[0];
  EXPECT_EQ(stat.kind, CallKind::kStat);
  EXPECT_EQ(stat.path, "/a b/f");
  EXPECT_EQ(stat.path.data()[stat.path.size()], '\0');
  EXPECT_EQ(stat.mode, S_IFREG | 04755);
  EXPECT_EQ(stat.size_bytes, 9u);
  EXPECT_EQ(stat.trace_line, 1u);
  EXPECT_TRUE(stat.no_follow);
  EXPECT_EQ(plan->calls[1].link_text, "f");
  EXPECT_EQ(plan->calls[2].size_bytes, kSizeNotCompared);
  EXPECT_FALSE(plan->calls[3].no_follow);
  EXPECT_EQ(plan->calls[3].error, EACCES);
  EXPECT_EQ(plan->calls[3].access_mode, 5);
  ASSERT_EQ(plan->lots.size(), 3u);
  EXPECT_EQ(plan->lots[2].begin, 3u);
  EXPECT_EQ(plan->lots[2].end, 5u);
  ASSERT_EQ(plan->listings.size(), 1u);
  EXPECT_EQ(KindName(plan->listings[0].kind), "getdents64");
}

TEST(ReplayPlan, LeavesSpecialFilesOutWhereTheyCannotBeMade) {
  const auto plan = Load(kPlan, false);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->coverage, "{\"lines\": 8}");
  EXPECT_EQ(plan->calls.size(), 4u);
  ASSERT_EQ(plan->lots.size(), 2u) << "one has nothing left";
  EXPECT_EQ(plan->lots[1].begin, 2u);
  EXPECT_EQ(plan->lots[1].end, 4u);
}

TEST(ReplayPlan, ALineThatIsNoneOfAPlanIsNamed) {
  const std::string plan = kPlan;
  const auto with = [&](const std::string& now, const std::string& then) {
    std::string changed = plan;
    return Load(changed.replace(changed.find(now), now.size(), then));
  };
  for (const auto& [now, then, line] : {
           std::tuple{"plan 2", "plan 1", "line 1:"},
           std::tuple{"node d 700 0 0 0", "node x 700 0 0 0", "line 6:"},
           std::tuple{"node d 700 0 0 0", "node d 800 0 0 0", "line 6:"},
           std::tuple{"node l 777 1 0 0 /l f", "node l 777 1 0 0 /l", "line 8:"},
           std::tuple{"lot\nstat n", "stat n", "line 14:"},
           std::tuple{"104755 9 1 0", "104755 9 1 7", "line 15:"},
           std::tuple{"104755 9 1 0", "104755 9 1", "line 15:"},
           std::tuple{"104755 9 1 0", "104755 9 1 0 0", "line 15:"},
           std::tuple{"readlink n", "chmod n", "line 16:"},
           std::tuple{"end 6\n", "end 5\n", "line 24:"},
           std::tuple{"end 6\n", "end 6\nlot\n", "line 25:"},
           std::tuple{"end 6\n", "", "stops in the middle"},
       }) {
    const auto loaded = with(now, then);
    ASSERT_FALSE(loaded) << then;
    EXPECT_THAT(loaded.error(), HasSubstr(line)) << then;
    EXPECT_THAT(loaded.error(), HasSubstr("/plan")) << then;
  }
}

TEST(ReplayPlan, AFileThatIsMissingOrHasNoCallsIsAnError) {
  EXPECT_THAT(LoadPlan("/nowhere/plan", true).error(), HasSubstr("/nowhere/plan: cannot open: No"));
  EXPECT_THAT(Load("nfswalk-plan 2\nend 0\n").error(), HasSubstr("no call to replay"));
}

TEST(ReplayPlan, TheShippedPlansAreWhole) {
  const auto git = LoadPlan("bench/traces/git-null.plan", true);
  ASSERT_TRUE(git) << git.error();
  EXPECT_EQ(git->calls.size(), 16296u);
  EXPECT_EQ(git->listings.size(), 124u);
  EXPECT_EQ(git->tree.size(), 3513u);
  EXPECT_EQ(git->lots.size(), 3u);
  const auto linux = LoadPlan("bench/traces/linux-null.plan", false);
  ASSERT_TRUE(linux) << linux.error();
  EXPECT_EQ(linux->calls.size(), 270227u);
  EXPECT_EQ(linux->listings.size(), 399u);
}

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
  const auto pass = ReplayOnce(subject, plan_, 3, 1);
  ASSERT_TRUE(pass) << pass.error();
  EXPECT_EQ(pass->turn.ops, 5u);
  EXPECT_EQ(subject.asked, 5u);
  EXPECT_EQ(pass->mismatches, 0u);
  EXPECT_EQ(pass->latencies_ns.size(), 4u) << "of all but the listing";
  EXPECT_EQ(ReplayOnce(subject, plan_, 1, 2)->turn.ops, 3u) << "every other call, the listing";
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
    const auto pass = ReplayOnce(subject, plan_, 1, 1);
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
  EXPECT_LT(pass->turn.ops, subject.asked) << "the warm-up is not timed";
  EXPECT_EQ(pass->compared, subject.asked);
  EXPECT_GE(pass->turn.seconds, 0.01);
  EXPECT_EQ(pass->mismatches, 0u);
  EXPECT_FALSE(pass->latencies_ns.empty());
}

TEST_F(ReplayTest, AThreadThatCannotStartFailsTheTurn) {
  EchoSubject subject;
  subject.refuses = true;
  EXPECT_EQ(ReplayOnce(subject, plan_, 2, 1).error(), "refused");
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
