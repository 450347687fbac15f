// While nothing changes: every answer of the client equals the kernel's own about the directory
// behind the export, cold and warm, in every mode, for every identity.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/differential/differential_export.h"
#include "tests/differential/odd_paths.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk::differential {
namespace {

constexpr uint64_t kSeed = 20141028;
constexpr size_t kOddPaths = 2000;

class StillTree : public DifferentialExport, public testing::WithParamInterface<int> {
 protected:
  int version() const { return GetParam(); }

  void SetUp() override {
    DifferentialExport::SetUp();
    if (!IsSkipped()) found_ = BuildTree(*tree_, kSeed);
  }

  // Everything, each asked by somebody else.
  std::vector<Question> Everything() const {
    std::vector<Question> questions;
    for (const std::string& path : found_.all) {
      questions.push_back({path, questions.size() % identities_.size(), {}, {}});
    }
    return questions;
  }
  // What only rights decide, asked by everybody.
  std::vector<Question> RightsOfAll() const {
    std::vector<Question> questions;
    for (const std::string& path : found_.rights) {
      for (size_t who = 0; who < identities_.size(); ++who) {
        questions.push_back({path, who, {}, {who % 4 == 0, false, kReadWriteExecute, false}});
      }
    }
    return questions;
  }
  std::vector<Question> Odd() const {
    auto questions = OddPaths(found_, kOddPaths, identities_.size(), kSeed);
    for (size_t i = 0; i < questions.size(); ++i) {
      Aspects& aspects = questions[i].aspects;
      aspects.read_link =
          questions[i].path.size() < 1000;  // of long paths the walk is all there is
      aspects.access_modes = aspects.read_link ? OneMode(i) : 0;
    }
    return questions;
  }
  // Without a cache a walk asks the server two or three times for each component, so that there not
  // everything can be asked of each path: stat, access and readlink take turns. One of `share`
  // questions is kept, no divisor of the number of identities.
  static std::vector<Question> AskedWithoutCache(const std::vector<Question>& questions,
                                                 size_t share) {
    std::vector<Question> kept;
    size_t longs = 0;
    for (size_t i = 0; i < questions.size(); i += share) {
      const bool is_long = questions[i].path.size() > 1000;
      if (is_long && longs++ % 16 != 0) continue;
      Question question = questions[i];
      const size_t turn = is_long ? 0 : kept.size() % 3;
      question.aspects = {turn == 0, turn == 2, turn == 1 ? OneMode(i / 3) : uint8_t{0}};
      kept.push_back(std::move(question));
    }
    return kept;
  }
  // Each mode from 1 to 7 in turn.
  static uint8_t OneMode(size_t i) { return static_cast<uint8_t>(2 << i % 7); }

  // Once with empty caches, once with what that left behind.
  void CheckColdAndWarm(std::string_view mode, const std::vector<AnsweredQuestion>& answered) {
    auto client = Mount(version(), "actimeo=600&walk=" + std::string(mode));
    ASSERT_NE(client, nullptr);
    Check(*client, answered, "cold, " + std::string(mode));
    const Stats before = client->stats();
    Check(*client, answered, "warm, " + std::string(mode));
    const Stats after = client->stats();
    ExpectNoDifferences();
    if (mode == "ref") return;
    // Long links in front of long paths need the heap, and with it references; so does a long walk
    // that is strict.
    EXPECT_GT(after.rcu_walks - before.rcu_walks, 10 * (after.ref_walks - before.ref_walks));
  }

  // Bit n for mode n of access(2).
  static constexpr uint8_t kReadWriteExecute = 1 << 1 | 1 << 2 | 1 << 4;

  Inventory found_;
};

TEST_P(StillTree, WithoutACacheEveryAnswerIsTheKernels) {
  auto client = Mount(version(), "noac");
  ASSERT_NE(client, nullptr);
  for (const auto& questions :
       {AskedWithoutCache(Everything(), 4), AskedWithoutCache(RightsOfAll(), 4),
        AskedWithoutCache(Odd(), version() == 3 ? 1 : 4)}) {
    Check(*client, AskKernel(questions), "noac");
  }
  ExpectNoDifferences();
}

TEST_P(StillTree, ColdAndWarmInEveryModeEveryAnswerIsTheKernels) {
  std::vector<AnsweredQuestion> answered;
  for (const auto& questions : {Everything(), RightsOfAll(), Odd()}) {
    auto more = AskKernel(questions);
    answered.insert(answered.end(), more.begin(), more.end());
  }
  for (const char* mode : kWalkModes) CheckColdAndWarm(mode, answered);
  for (int error : {0, ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, EXDEV, EINVAL}) {
    EXPECT_GE(comparison_->Answered(error), 20u) << strerrorname_np(error);
  }
}

// A double collect answers as the ladder does.
TEST_P(StillTree, StrictWalksAnswerAsTheKernelDoes) {
  std::vector<Question> questions = Odd();
  for (Question& question : questions) question.flags.strict = true;
  auto answered = AskKernel(questions);
  // Where a long link stands in front of a long path, the path needs the heap, and the only pass
  // that could answer may not touch it: EAGAIN.
  std::erase_if(answered, [](const AnsweredQuestion& one) {
    return one.question.path.size() > 1000 && one.question.path.contains("long_text");
  });
  CheckColdAndWarm("rcu-search", answered);
}

// What is known to differ (docs/protocols.md); the trees of the other tests have none of it.
TEST_P(StillTree, WhatLooksLikeAReferralToTheServerIsOneToVersion4) {
  constexpr uint32_t kMode = 01600;
  ASSERT_TRUE(IsReferral(kMode));
  tree_->Directory("referral", kMode);
  auto client = Mount(version(), "noac");
  ASSERT_NE(client, nullptr);
  auto told = client->Stat("referral", identities_[0].credential);
  if (version() == 3) {
    EXPECT_EQ(told->mode, kMode);
  } else {
    ASSERT_FALSE(told.has_value());
    EXPECT_EQ(static_cast<int>(told.error()), EREMOTE);
  }
}

class SquashedTree : public StillTree {
 protected:
  bool root_squash() const override { return true; }
};

TEST_P(SquashedTree, RootIsNobodyInParticular) {
  CheckColdAndWarm("rcu-search", AskKernel(RightsOfAll()));
}

INSTANTIATE_TEST_SUITE_P(, StillTree, fixtures::AllVersions(), fixtures::VersionTestName);
INSTANTIATE_TEST_SUITE_P(, SquashedTree, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk::differential
