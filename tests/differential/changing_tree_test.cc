// The backing directory changes between questions: the client's results are the kernel's, without a
// cache at once, with caches after InvalidateCaches() or after the attribute lifetime.
//
// Walks are hand-over-hand. `strict` needs caches (docs/walk.md) and is compared where there are
// some.

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/coarse_clock.h"
#include "tests/differential/differential_export.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk::differential {
namespace {

constexpr uint64_t kSeed = 41;
constexpr const char* kDirectories[] = {"live", "live/a", "live/b", "live/a/a"};
constexpr const char* kNames[] = {"a", "b", "c", "d", "e"};
constexpr uint32_t kOwners[] = {0, kAlice, kAlice, kBob};
constexpr uint32_t kGroups[] = {0, kAlice, kStaff, kStaff, kWheel};
constexpr const char* kTargets[] = {"a",    "b",         "c/d", "../b",         "/live/a/c",
                                    "d/e/", "../../..",  ".",   "nowhere",      "/live",
                                    "e",    "../live/d", "..",  "/live/b/../c", "/live/a/a/b"};
// Mostly modes that let walks proceed, and all others rarely.
constexpr uint32_t kModes[] = {0755, 0755, 0711, 0750, 0700, 0070, 0644, 0604, 0000, 0777};

template <class T, size_t n>
T Pick(const T (&from)[n], std::mt19937_64& random) {
  return from[random() % n];
}

// Random changes of a tree of few names, so that names change their type often, a file becomes a
// directory, a directory a link, and both sides of a rename exist.
class Mutations {
 public:
  // Makes a full tree below the export's root.
  Mutations(BackingTree& tree, uint64_t seed) : tree_(tree), random_(seed) {
    for (const char* directory : kDirectories) tree_.Directory(directory);
    for (const char* directory : kDirectories) {
      for (const char* name : kNames) Make(std::string(directory) + "/" + name);
    }
  }

  // Makes one random change, which may fail: a directory cannot be moved into itself.
  void Mutate() {
    const std::string path = SomeName();
    switch (random_() % 12) {
      case 0:
      case 1:
        return Rename(0);
      case 2:
        return Rename(RENAME_EXCHANGE);
      case 3:
      case 4:
        return SetMode(random_() % 4 == 0 ? SomeDirectory() : path);
      case 5:
        return SetOwner(path);
      case 6:
        return Remove(path);
      case 7:
        return Write(path);
      case 8:
        return Count(link(tree_.At(path).c_str(), tree_.At(SomeName()).c_str()));
      case 9:
        return Make(path);
      default:
        return Replace();
    }
  }

  // Returns a path of one to four of the tree's names, with dots and slashes in between. Most do
  // not exist.
  std::string SomePath() {
    std::string path = Pick(kDirectories, random_);
    for (uint64_t more = random_() % 4; more > 0; --more) {
      path += random_() % 8 == 0 ? "/../" : random_() % 8 == 0 ? "/./" : "/";
      path += Pick(kNames, random_);
    }
    if (random_() % 8 == 0) path += random_() % 2 == 0 ? "/" : "/.";
    return path;
  }

  // The number of changes made.
  size_t done() const { return done_; }

 private:
  bool IsDirectory(const std::string& path) const {
    struct stat itself;
    return lstat(tree_.At(path).c_str(), &itself) == 0 && S_ISDIR(itself.st_mode);
  }

  // Not through links: from here they lead out of the export.
  std::string SomeDirectory() {
    for (;;) {
      const std::string path = Pick(kDirectories, random_);
      bool good = true;
      for (size_t end = path.find('/'); good; end = path.find('/', end + 1)) {
        good = IsDirectory(path.substr(0, end));
        if (end == std::string::npos) break;
      }
      if (good) return path;
    }
  }

  // a name in an existing directory
  std::string SomeName() { return SomeDirectory() + "/" + Pick(kNames, random_); }

  // Does nothing if `path` exists.
  void Make(const std::string& path) {
    struct stat itself;
    if (lstat(tree_.At(path).c_str(), &itself) == 0) return;
    const uint32_t uid = Pick(kOwners, random_), gid = Pick(kGroups, random_);
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        tree_.Directory(path, Pick(kModes, random_), uid, gid);
        tree_.File(path + "/" + Pick(kNames, random_), 1, 0644, uid, gid);
        break;
      case 3:
      case 4:
        tree_.File(path, random_() % 5000, Pick(kModes, random_), uid, gid);
        break;
      case 5:
        tree_.Node(path, S_IFIFO);
        break;
      default:
        tree_.Link(Pick(kTargets, random_), path);
    }
    ++done_;
  }

  void Remove(const std::string& path) {
    std::error_code error;
    done_ += std::filesystem::remove_all(tree_.At(path), error) > 0 ? 1 : 0;
  }

  void SetMode(const std::string& path) {
    uint32_t mode = random_() % 3 == 0 ? random_() % 010000 : Pick(kModes, random_);
    if (IsReferral(mode)) mode &= 0777;
    // Not every chmod has AT_SYMLINK_NOFOLLOW; a link has no mode of its own.
    struct stat itself;
    const std::string at = tree_.At(path);
    if (lstat(at.c_str(), &itself) == 0 && !S_ISLNK(itself.st_mode)) {
      Count(chmod(at.c_str(), mode));
    }
  }

  void SetOwner(const std::string& path) {
    Count(lchown(tree_.At(path).c_str(), Pick(kOwners, random_), Pick(kGroups, random_)));
  }

  void Rename(unsigned flags) {
    const std::string from = tree_.At(SomeName()), to = tree_.At(SomeName());
    if (from != to) Count(renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags));
  }

  void Replace() {
    const std::string path = SomeName();
    Remove(path);
    Make(path);
  }

  void Write(const std::string& path) {
    const int file = open(tree_.At(path).c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    Count(ftruncate(file, static_cast<off_t>(random_() % 9000)));
    close(file);
  }

  void Count(int result) { done_ += result == 0 ? 1 : 0; }

  BackingTree& tree_;
  std::mt19937_64 random_;
  size_t done_ = 0;
};

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
