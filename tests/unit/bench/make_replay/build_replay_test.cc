#include "bench/make_replay/build_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/make_replay/build_plan.h"

namespace nfswalk::bench {
namespace {

using testing::HasSubstr;

const std::string kHead =
    "nfswalk-build-plan 1\n"
    "trace git-build\n"
    "coverage {\"lines\": 9}\n"
    "node d 755 0 0 0 /\n"
    "string /f\n"
    "string /g\n";
// Each process waits for the one before it, and the first for the second.
const std::string kThree =
    "process\n"
    "stat - 0 0 100644 5 2 7.8 - 1 0\n"
    "unlink n 0 0 0 - - - 1:1,2:1 4 0\n"
    "process\n"
    "create x 0 0 644 - - - 0:1 2 0\n"
    "process\n"
    "rename n 0 0 0 - - - 1:1 3 0 1\n"
    "truncate - 0 0 0 9 - - - 5 1\n"
    "end 5\n";

std::expected<BuildPlan, std::string> Load(const std::string& text) {
  const std::string file = testing::TempDir() + "/build_plan";
  std::ofstream(file, std::ios::binary) << text;
  return LoadBuildPlan(file);
}

// Answers what it is asked for, and writes down in which order.
class RecordingSubject final : public Subject {
 public:
  std::string_view subject() const override { return "recording"; }
  std::string_view mode() const override { return "-"; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    return std::make_unique<Thread>(*this);
  }

  std::vector<uint32_t> lines;  // of the trace

 private:
  class Thread final : public SubjectThread {
   public:
    explicit Thread(RecordingSubject& subject) : subject_(subject) {}
    Answer Ask(const Call& call, std::span<char>) override {
      Record(call);
      return {.error = call.error,
              .mode = call.mode,
              .size_bytes = call.size_bytes,
              .links = 2,
              .modified = {.seconds = 7, .nanoseconds = 8}};
    }
    Answer Change(const BuildCall& call) override {
      Record(call);
      return {.error = call.error};
    }

   private:
    void Record(const Call& call) {
      const std::lock_guard guard(subject_.mutex_);
      subject_.lines.push_back(call.trace_line);
    }
    RecordingSubject& subject_;
  };

  std::mutex mutex_;
};

TEST(BuildPlan, HoldsTheCallsOfEachProcessAndWhatTheyWaitFor) {
  const auto plan = Load(kHead + kThree);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->trace, "git-build");
  ASSERT_EQ(plan->processes.size(), 3u);
  const PlannedCall& stat = plan->processes[0][0];
  EXPECT_EQ(stat.kind, CallKind::kStat);
  EXPECT_EQ(stat.links, 2u);
  EXPECT_EQ(stat.modified, (protocol::Time{7, 8}));
  EXPECT_TRUE(plan->WaitsOf(stat).empty());
  const auto waits = plan->WaitsOf(plan->processes[0][1]);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[1].process, 2u);
  EXPECT_EQ(waits[1].calls, 1u);
  EXPECT_TRUE(plan->processes[1][0].exclusive);
  EXPECT_EQ(plan->processes[2][0].second, "/g");
  EXPECT_EQ(plan->processes[2][1].size_bytes, 9u);
}

TEST(BuildPlan, ALineThatIsNoneOfAPlanIsNamed) {
  for (const auto& [now, then, line] : {
           std::tuple{"plan 1", "plan 2", "line 1:"},
           std::tuple{"process\nstat", "stat", "line 7:"},
           std::tuple{"7.8", "7", "line 8:"},
           std::tuple{"1:1,2:1", "1:1,2", "line 9:"},
           std::tuple{"3 0 1", "3 0", "line 13:"},
           std::tuple{"3 0 1", "3 0 2", "line 13:"},
           std::tuple{"1:1,2:1", "1:2,2:1", "line 15:"},
           std::tuple{"1:1,2:1", "1:1,3:1", "line 15:"},
           std::tuple{"end 5", "end 4", "line 15:"},
       }) {
    std::string text = kHead + kThree;
    text.replace(text.find(now), std::string_view(now).size(), then);
    const auto plan = Load(text);
    ASSERT_FALSE(plan) << then;
    EXPECT_THAT(plan.error(), HasSubstr(line)) << then;
  }
}

TEST(BuildReplay, KeepsTheOrderOfThePlanWithAnyNumberOfThreads) {
  const auto plan = Load(kHead + kThree);
  ASSERT_TRUE(plan) << plan.error();
  for (const size_t threads : {1, 2, 3, 8}) {
    RecordingSubject subject;
    const auto pass = ReplayBuild(subject, *plan, threads, 1);
    ASSERT_TRUE(pass) << pass.error();
    EXPECT_EQ(pass->compared, 5u);
    EXPECT_EQ(pass->mismatches, 0u);
    // The last two wait for the third one, not for each other.
    ASSERT_EQ(subject.lines.size(), 5u);
    EXPECT_THAT(subject.lines, testing::AnyOf(testing::ElementsAre(1, 2, 3, 4, 5),
                                              testing::ElementsAre(1, 2, 3, 5, 4)));
  }
}

TEST(BuildReplay, MakesEveryChangeWhereOnlySomeOtherCallsAreMade) {
  const auto plan = Load(kHead +
                         "process\nunlink n 0 0 0 - - - - 1 0\nstat - 2 0 0 - - - - 2 0\n"
                         "stat - 2 0 0 - - - - 3 0\nunlink n 0 0 0 - - - - 4 0\nend 4\n");
  ASSERT_TRUE(plan) << plan.error();
  RecordingSubject subject;
  ASSERT_TRUE(ReplayBuild(subject, *plan, 1, 2));
  EXPECT_THAT(subject.lines, testing::ElementsAre(1, 3, 4));
}

TEST(BuildReplay, CallsThatWaitForOneAnotherAreAnError) {
  const auto plan = Load(kHead +
                         "process\nstat - 2 0 0 - - - 1:1 1 0\n"
                         "process\nstat - 2 0 0 - - - 0:1 2 0\nend 2\n");
  ASSERT_TRUE(plan) << plan.error();
  RecordingSubject subject;
  const auto pass = ReplayBuild(subject, *plan, 2, 1);
  ASSERT_FALSE(pass);
  EXPECT_THAT(pass.error(), HasSubstr("wait for one another"));
  EXPECT_TRUE(subject.lines.empty());
}

}  // namespace
}  // namespace nfswalk::bench
