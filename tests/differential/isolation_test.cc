// Cached rights of one credential are never used for another.
//
// Threads of different credentials look at the same files while modes change, through the client
// and behind it. A file's modes alternate between states that agree on some rights: a right of all
// states must always be granted, a right of none always denied. Any other result is another
// credential's, whatever the timing.

#include <sys/stat.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/differential/backing_tree.h"
#include "tests/differential/identities.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk::differential {
namespace {

constexpr size_t kIdentities = 4;
constexpr uint32_t kModes = 4;  // states of a file
constexpr size_t kAccesses = 250'000;
constexpr size_t kAccessesAChange = 400;

// They differ in one thing each: the primary group, a supplementary one, the uid.
const std::vector<Credential>& Callers() {
  static const std::vector<Credential> callers = {
      {kAlice, kStaff, {3001, 3002}},
      {kAlice, kStaff, {3001, 3003}},
      {kAlice, kWheel, {3001, 3002}},
      {kBob, kStaff, {3001, 3002}},
  };
  return callers;
}

struct Subject {
  std::string path;
  uint32_t uid;
  uint32_t gid;
  uint32_t modes[kModes];
};

// Returns the rwx bits that apply: the first class that matches decides (path_resolution(7)).
uint32_t Rights(const Subject& subject, uint32_t mode, const Credential& who) {
  if (who.uid() == subject.uid) return mode >> 6 & 7;
  bool member = who.gid() == subject.gid;
  for (uint32_t group : who.groups()) member = member || group == subject.gid;
  return member ? mode >> 3 & 7 : mode & 7;
}

// Rights on which all states of a subject agree.
struct Expectation {
  uint32_t always = 7;  // granted in all states
  uint32_t never = 7;   // granted in none
};
// `write_needs_search`: NfsServer::Properties', if the subject is a directory.
Expectation Expected(const Subject& subject, const Credential& who, bool write_needs_search) {
  Expectation expectation;
  for (uint32_t mode : subject.modes) {
    uint32_t rights = Rights(subject, mode, who);
    if (write_needs_search && (rights & kMayExecute) == 0) rights &= ~kMayWrite;
    expectation.always &= rights;
    expectation.never &= ~rights;
  }
  return expectation;
}

class Isolation : public fixtures::MountedExport,
                  public testing::WithParamInterface<std::tuple<int, const char*>> {
 protected:
  int version() const override { return std::get<0>(GetParam()); }

  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount(std::string("actimeo=600&access_entries=600&walk=") + std::get<1>(GetParam()));
    ASSERT_NE(client_, nullptr);
    BackingTree tree(Backing(""));
    // Private files, files of a group, files of all except a group, and mixtures.
    constexpr uint32_t kStates[][kModes] = {{0600, 0700, 0400, 0500}, {0040, 0060, 0070, 0050},
                                            {0705, 0704, 0707, 0706}, {0277, 0267, 0077, 0067},
                                            {0010, 0030, 0011, 0033}, {0421, 0561, 0461, 0521}};
    constexpr uint32_t kOwners[] = {kAlice, kBob, 1999};
    constexpr uint32_t kGroups[] = {kStaff, kWheel, 3001, 3002, 3003};
    for (const auto& states : kStates) {
      for (uint32_t uid : kOwners) {
        for (uint32_t gid : kGroups) {
          Subject subject{std::to_string(subjects_.size()), uid, gid, {}};
          std::copy(states, states + kModes, subject.modes);
          if (subjects_.size() % 2 == 0) {
            tree.File(subject.path, 3, states[0], uid, gid);
          } else {
            tree.Directory(subject.path, states[0], uid, gid);
            tree.File(subject.path + "/in");
          }
          subjects_.push_back(subject);
        }
      }
    }
  }

  // Makes one access(), or a stat through a directory; counts definite results and wrong ones.
  void AskOnce(const Credential& who, std::mt19937_64& random) {
    const size_t i = random() % subjects_.size();
    const Subject& subject = subjects_[i];
    const bool directory = i % 2 == 1;
    const Expectation expected =
        Expected(subject, who, directory && server().properties().write_needs_search);
    const bool inside = directory && random() % 4 == 0;
    const uint32_t wanted = inside ? kMayExecute : static_cast<uint32_t>(1 + random() % 7);
    const std::string path = Path(subject.path);
    std::errc answer;
    if (inside) {
      auto attributes = client_->Stat(path + "/in", who);
      answer = attributes ? std::errc{} : attributes.error();
    } else {
      answer = client_->Access(path, wanted, who);
    }
    if ((wanted & expected.always) == wanted) {
      ++granted_;
      wrong_ += answer != std::errc{};
    } else if ((wanted & expected.never) != 0) {
      ++denied_;
      wrong_ += answer != std::errc::permission_denied;
    } else {
      wrong_ += answer != std::errc{} && answer != std::errc::permission_denied;
    }
  }

  void Ask(size_t who) {
    std::mt19937_64 random(who);
    for (size_t i = 0; i < kAccesses / kIdentities; ++i) {
      AskOnce(Callers()[who], random);
      const size_t asked = asked_.fetch_add(1);
      asked_.notify_all();
      // Lets the changes keep up.
      const size_t due = asked / kAccessesAChange;
      for (size_t seen = changes_; seen + 4 < due; seen = changes_) changes_.wait(seen);
    }
  }

  // Makes a change after every kAccessesAChange accesses, until all were made.
  void Change() {
    std::mt19937_64 random(99);
    while (asked_ < kAccesses) {
      const Subject& subject = subjects_[random() % subjects_.size()];
      const uint32_t mode = subject.modes[random() % kModes];
      if (changes_ % 2 == 0) {
        const SetAttributes attributes{.mode = mode};
        wrong_ += !client_->SetAttributesOf(Path(subject.path), attributes, root_).has_value();
      } else {
        wrong_ += chmod(Backing(subject.path).c_str(), mode) != 0;
      }
      if (changes_ % 64 == 63) client_->InvalidateCaches();
      if (changes_ % 256 == 255) client_->DropCaches();
      ++changes_;
      changes_.notify_all();
      const size_t next = std::min(changes_ * kAccessesAChange, kAccesses);
      for (size_t seen = asked_; seen < next; seen = asked_) asked_.wait(seen);
    }
  }

  std::unique_ptr<Client> client_;
  std::vector<Subject> subjects_;
  std::atomic<size_t> asked_{0}, changes_{0}, granted_{0}, denied_{0}, wrong_{0};
};

TEST_P(Isolation, CachedRightsAreNotSharedBetweenCredentials) {
  std::vector<std::thread> threads;
  for (size_t who = 0; who < kIdentities; ++who) threads.emplace_back([this, who] { Ask(who); });
  Change();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_, 0u);
  EXPECT_GT(granted_, kAccesses / 20);
  EXPECT_GT(denied_, kAccesses / 20);
  EXPECT_GT(changes_, kAccesses / kAccessesAChange - 10);
  EXPECT_GT(client_->stats().rcu_walks, kAccesses / 2);
}

INSTANTIATE_TEST_SUITE_P(, Isolation,
                         testing::Combine(fixtures::AllVersions(),
                                          testing::Values("rcu-peek", "rcu-search")),
                         [](const auto& test) {
                           std::string mode = std::get<1>(test.param);
                           return fixtures::VersionName(std::get<0>(test.param)) + "_" +
                                  mode.substr(4);
                         });

// Credentials that differ only in groups beyond the sixteenth get the same results, from cache
// entries of their own.
class WireIsolation : public fixtures::VersionedExport {};

TEST_P(WireIsolation, TheSeventeenthGroupIsNotSentAndGrantsNothing) {
  auto client = Mount("actimeo=600");
  MakeFile("file");
  chmod(Backing("file").c_str(), 0040);
  chown(Backing("file").c_str(), 0, kStaff);
  std::vector<uint32_t> groups;
  for (uint32_t i = 0; i < 16; ++i) groups.push_back(4000 + i);
  auto late = groups;
  late.push_back(kStaff);
  auto early = groups;
  early.insert(early.begin() + 15, kStaff);
  for (int warm = 0; warm < 3; ++warm) {
    // The server's kernel would grant both, given all groups.
    EXPECT_EQ(client->Access(Path("file"), kMayRead, {kAlice, kAlice, early}), std::errc{});
    EXPECT_EQ(client->Access(Path("file"), kMayRead, {kAlice, kAlice, late}),
              std::errc::permission_denied);
  }
}

INSTANTIATE_TEST_SUITE_P(, WireIsolation, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk::differential
