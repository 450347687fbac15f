#include "bench/measure/warm_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

using testing::HasSubstr;

// Answers for regular files of mode 0644, but for one path, and remembers who was asked what first.
class ScriptedSubject final : public Subject {
 public:
  explicit ScriptedSubject(std::string wrong = "") : wrong_(std::move(wrong)) {}

  std::string_view subject() const override { return "scripted"; }
  std::string_view mode() const override { return "-"; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    if (wrong_ == "no thread") return std::unexpected("no thread today");
    return std::make_unique<Thread>(*this);
  }

  std::atomic<uint64_t> asked = 0;
  std::mutex mutex;
  std::multiset<std::string> first_paths;  // of each thread

 private:
  class Thread final : public SubjectThread {
   public:
    explicit Thread(ScriptedSubject& subject) : subject_(subject) {}
    Answer Ask(const Call& call, std::span<char>) override {
      if (!asked_) {
        const std::lock_guard guard(subject_.mutex);
        subject_.first_paths.emplace(call.path);
      }
      asked_ = true;
      ++subject_.asked;
      if (call.path == subject_.wrong_) return {.mode = S_IFDIR | 0755};
      if (call.path.starts_with("none")) return {.error = ENOENT};
      return {.mode = S_IFREG | 0644};
    }

   private:
    ScriptedSubject& subject_;
    bool asked_ = false;
  };

  const std::string wrong_;
};

TEST(WarmCalls, PathsEndInNulAndLieInTheOrderOfTheCalls) {
  const WarmCalls calls({"a/b", "c"}, ENOENT);
  ASSERT_EQ(calls.calls().size(), 2u);
  EXPECT_EQ(calls.calls()[0].path, "a/b");
  EXPECT_EQ(calls.calls()[0].path.data()[3], '\0');
  EXPECT_EQ(calls.calls()[1].path.data(), calls.calls()[0].path.data() + 4);
  EXPECT_EQ(calls.calls()[1].error, ENOENT);
}

TEST(WarmTurn, EveryThreadStartsElsewhereAndEveryAnswerIsCompared) {
  const WarmCalls calls({"a", "b", "c", "d"});
  ScriptedSubject subject;
  const auto turn = TakeWarmTurn(subject, calls.calls(), 1, 2, 0.001);
  ASSERT_TRUE(turn) << turn.error();
  EXPECT_GT(turn->ops, 0u);
  EXPECT_LT(turn->ops, subject.asked) << "the calls before the clock starts are not counted";
  EXPECT_GE(turn->seconds, 0.001);
  EXPECT_EQ(subject.first_paths, (std::multiset<std::string>{"b", "d"}));
  ScriptedSubject wrong("c");
  const auto failed = TakeWarmTurn(wrong, calls.calls(), 0, 1, 0.001);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error(), HasSubstr("for c"));
}

TEST(WarmTurn, ExpectedErrorIsARightAnswer) {
  const WarmCalls missing({"none1", "none2"}, ENOENT), there({"none1"});
  ScriptedSubject subject;
  EXPECT_TRUE(TakeWarmTurn(subject, missing.calls(), 0, 1, 0.001));
  EXPECT_FALSE(TakeWarmTurn(subject, there.calls(), 0, 1, 0.001));
}

TEST(WarmTurn, CallsAreAskedOnceAsEveryIdentity) {
  const WarmCalls calls({"a", "b", "c"});
  ScriptedSubject subject;
  EXPECT_TRUE(AskEachOnce(subject, calls.calls(), 1));
  EXPECT_EQ(subject.asked, 3u);
  subject.asked = 0;
  EXPECT_TRUE(AskEachOnce(subject, calls.calls(), 4));
  EXPECT_EQ(subject.asked, 4u * (3 + 1)) << "one more call each round moves on the identities";
  ScriptedSubject wrong("b");
  EXPECT_THAT(AskEachOnce(wrong, calls.calls(), 1).error(), HasSubstr("for b"));
}

TEST(WarmTurn, SubjectThatGivesNoThreadIsTheError) {
  const WarmCalls calls({"a"});
  ScriptedSubject subject("no thread");
  EXPECT_EQ(TakeWarmTurn(subject, calls.calls(), 0, 2, 0.001).error(), "no thread today");
  EXPECT_EQ(AskEachOnce(subject, calls.calls(), 1).error(), "no thread today");
}

}  // namespace
}  // namespace nfswalk::bench
