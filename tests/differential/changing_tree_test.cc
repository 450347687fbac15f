// The backing directory changes between questions: the client's results are the kernel's, without a
// cache at once, with caches after InvalidateCaches() or after the attribute lifetime.
//
// Walks are hand-over-hand. `strict` needs caches (docs/walk.md) and is compared where there are
// some.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/coarse_clock.h"
#include "tests/differential/differential_export.h"
#include "tests/differential/mutations.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk::differential {
namespace {

constexpr uint64_t kSeed = 41;

class ChangingTree : public DifferentialExport, public testing::WithParamInterface<int> {
 protected:
  struct Mounted {
    std::string situation;
    std::unique_ptr<Client> client;
  };

  bool caches_names() const override { return false; }

  void SetUp() override {
    DifferentialExport::SetUp();
    if (IsSkipped()) return;
    mutations_ = std::make_unique<Mutations>(*tree_, kSeed);
  }

  // One mount for each walk mode.
  std::vector<Mounted> MountAll(const std::string& options) {
    std::vector<Mounted> mounts;
    for (const std::string mode : kWalkModes) {
      const std::string all = options + "&walk=" + mode;
      mounts.push_back({all, Mount(GetParam(), all)});
    }
    return mounts;
  }

  void Change(int times) {
    AwaitClockTick();
    for (int i = 0; i < times; ++i) mutations_->Mutate();
  }

  std::vector<AnsweredQuestion> SomeAnswers(size_t count) {
    std::vector<Question> questions;
    for (size_t i = 0; i < count; ++i) {
      Question question;
      question.path = mutations_->SomePath();
      question.who = asked_++ % identities_.size();
      question.flags.beneath = i % 7 == 0;
      question.flags.no_symlinks = i % 11 == 0;
      question.aspects = {true, i % 2 == 0, static_cast<uint8_t>(2 << i % 7)};
      questions.push_back(question);
    }
    return AskKernel(questions);
  }

  void CheckAll(const std::vector<Mounted>& mounts, const std::vector<AnsweredQuestion>& answered) {
    for (const Mounted& mount : mounts) Check(*mount.client, answered, mount.situation);
  }

  void ExpectFloors(size_t changes) {
    EXPECT_GT(mutations_->done(), changes);
    for (int error : {0, ENOENT, ENOTDIR, EACCES, ELOOP}) {
      EXPECT_GT(comparison_->Answered(error), 0u) << strerrorname_np(error);
    }
  }

  std::unique_ptr<Mutations> mutations_;
  size_t asked_ = 0;
};

TEST_P(ChangingTree, WithoutACacheChangesAreSeenAtOnce) {
  const auto mounts = MountAll("noac");
  constexpr int kRounds = 30;
  for (int round = 0; round < kRounds; ++round) {
    Change(8);
    CheckAll(mounts, SomeAnswers(12));
  }
  ExpectNoDifferences();
  ExpectFloors(kRounds);
}

TEST_P(ChangingTree, InvalidatedCachesShowWhatTheServerHas) {
  auto mounts = MountAll("actimeo=600");
  mounts.push_back({"strict", Mount(GetParam(), "actimeo=600&strict")});
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    Change(8);
    for (const Mounted& mount : mounts) mount.client->InvalidateCaches();
    const auto answered = SomeAnswers(30);
    CheckAll(mounts, answered);
    CheckAll(mounts, answered);  // cached
  }
  ExpectNoDifferences();
  ExpectFloors(kRounds);
  for (const Mounted& mount : mounts) {
    const bool rcu = mount.situation != "actimeo=600&walk=ref";
    EXPECT_EQ(mount.client->stats().rcu_walks > kRounds * 30u, rcu) << mount.situation;
  }
}

TEST_P(ChangingTree, ExpiredEntriesAreRevalidated) {
  const auto mounts = MountAll("actimeo=1");
  for (int round = 0; round < 3; ++round) {
    Change(100);
    // Entries fetched last expire last.
    const uint64_t over = rcu::CoarseNowNs() + 1'000'000'000;
    while (rcu::CoarseNowNs() <= over) std::this_thread::yield();
    CheckAll(mounts, SomeAnswers(100));
  }
  ExpectNoDifferences();
  ExpectFloors(100);
}

INSTANTIATE_TEST_SUITE_P(, ChangingTree, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk::differential
