// `nfswalk mount`: a directory that is opened has what another client changed before, and what a
// listing shows is there.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>

#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

constexpr int kTries = 100;

using Names = std::set<std::string>;

// opendir(3) and all of readdir(3); "errno N" in place of what cannot be read.
Names ListingOf(const std::string& path) {
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return {fmt::format("errno {}", errno)};
  Names names;
  errno = 0;
  while (const dirent* const entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.insert(entry->d_name);
    errno = 0;
  }
  if (errno != 0) names.insert(fmt::format("errno {}", errno));
  closedir(directory);
  return names;
}

int StatError(const std::string& path) {
  struct stat found{};
  return ErrorOf(lstat(path.c_str(), &found));
}

// The type of a file, or "errno N".
std::string TypeOf(const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return fmt::format("errno {}", errno);
  return S_ISDIR(found.st_mode) ? "directory" : S_ISREG(found.st_mode) ? "file" : "other";
}

class MountListingsTest : public MountPair {
 protected:
  void SetUp() override {
    MountPair::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    MountBoth("actimeo=600");
    Directory("d");
  }

  static bool Make(const std::string& path) { return WriteText(path, "text") == 0; }
  // A directory of its own for each try, so that none is known before.
  std::string MakeOne(int number) const {
    std::string name = fmt::format("{}", number);
    EXPECT_EQ(mkdir(Other(name).c_str(), 0755), 0);
    return name;
  }
  // Counts the RPCs that the first mount has sent.
  uint64_t Rpcs() const {
    const ProgramRun run = Run({"stats", "--json", mount_point()});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Objects(run).at(0).at("rpcs_total").get<uint64_t>();
  }
};

TEST_P(MountListingsTest, HasWhatAnotherClientMadeAndRemoved) {
  ASSERT_TRUE(Make(Other("d/one")));
  EXPECT_EQ(ListingOf(At("d")), Names{"one"});
  for (int i = 0; i < kTries; ++i) {
    const std::string name = fmt::format("{}", i);
    ASSERT_TRUE(Make(Other("d/" + name)));
    ASSERT_EQ(ListingOf(At("d")), (Names{"one", name})) << i;
    ASSERT_EQ(unlink(Other("d/" + name).c_str()), 0);
    ASSERT_EQ(ListingOf(At("d")), Names{"one"}) << i;
  }
}

TEST_P(MountListingsTest, HasWhatWasMadeBeforeItsReader) {
  ASSERT_TRUE(Make(Other("d/one")));
  for (int i = 0; i < kTries; ++i) {
    EXPECT_EQ(ListingOf(At("d")).size(), static_cast<size_t>(i + 1));
    const Descriptor late(open(At("d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(Make(At(fmt::format("d/{}", i))));
    DIR* const directory = fdopendir(dup(late.fd));
    ASSERT_NE(directory, nullptr);
    Names names;
    while (const dirent* const entry = readdir(directory)) names.insert(entry->d_name);
    EXPECT_EQ(names.size(), static_cast<size_t>(i + 4)) << "with . and ..";
    closedir(directory);
  }
}

TEST_P(MountListingsTest, ATreeThatAnotherClientAddsToIsRemoved) {
  for (int i = 0; i < kTries / 10; ++i) {
    const std::string name = MakeOne(i);
    ASSERT_EQ(mkdir(Other(name + "/below").c_str(), 0755), 0);
    ASSERT_TRUE(Make(Other(name + "/below/one")));
    EXPECT_EQ(RunProgram({"find", At(name), "-ls"}).exit_code, 0);
    ASSERT_TRUE(Make(Other(name + "/two")));
    ASSERT_TRUE(Make(Other(name + "/below/two")));
    const ProgramRun run = RunProgram({"rm", "-rf", At(name)});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

TEST_P(MountListingsTest, ADirectoryThatWasMadeAnewIsTheNewOne) {
  for (int i = 0; i < kTries / 10; ++i) {
    const std::string name = MakeOne(i);
    ASSERT_TRUE(Make(Other(name + "/old")));
    EXPECT_EQ(ListingOf(At(name)), Names{"old"});
    ASSERT_EQ(unlink(Other(name + "/old").c_str()), 0);
    ASSERT_EQ(rmdir(Other(name).c_str()), 0);
    ASSERT_EQ(mkdir(Other(name).c_str(), 0755), 0);
    ASSERT_TRUE(Make(Other(name + "/new")));
    EXPECT_EQ(ListingOf(At(name)), Names{"new"});
  }
}

// The kernel has known that the name is not there. NAME-37.
TEST_P(MountListingsTest, ListedNamesExist) {
  int absent = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = MakeOne(i);
    EXPECT_EQ(StatError(At(name + "/x")), ENOENT);
    EXPECT_EQ(StatError(At(name + "/x")), ENOENT);
    ASSERT_TRUE(Make(Other(name + "/x")));
    ASSERT_EQ(ListingOf(At(name)), Names{"x"});
    absent += StatError(At(name + "/x")) != 0;
  }
  EXPECT_EQ(absent, 0) << "of " << kTries;
}

TEST_P(MountListingsTest, UnlistedNamesDoNotExist) {
  int there = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = MakeOne(i);
    ASSERT_TRUE(Make(Other(name + "/x")));
    ASSERT_EQ(ListingOf(At(name)), Names{"x"});
    EXPECT_EQ(StatError(At(name + "/x")), 0);
    ASSERT_EQ(unlink(Other(name + "/x").c_str()), 0);
    ASSERT_EQ(ListingOf(At(name)), Names{});
    there += StatError(At(name + "/x")) != ENOENT;
  }
  EXPECT_EQ(there, 0) << "of " << kTries;
}

// The change comes between opendir(3) and readdir(3), which asks the server because of an own one.
TEST_P(MountListingsTest, NameFoundByAListingExists) {
  int shown = 0, absent = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = MakeOne(i);
    EXPECT_EQ(ListingOf(At(name)), Names{});
    EXPECT_EQ(StatError(At(name + "/x")), ENOENT);
    DIR* const directory = opendir(At(name).c_str());
    ASSERT_NE(directory, nullptr);
    ASSERT_TRUE(Make(At(name + "/own")));
    ASSERT_TRUE(Make(Other(name + "/x")));
    while (const dirent* const entry = readdir(directory)) {
      if (entry->d_name[0] != 'x') continue;
      ++shown;
      struct stat found{};
      absent += fstatat(dirfd(directory), "x", &found, 0) != 0;
    }
    closedir(directory);
  }
  EXPECT_EQ(absent, 0) << "of " << shown;
  EXPECT_GT(shown, 0);
}

// The kernel asks behind ".." without nodes, which would leave the absence that it has of a name.
TEST_P(MountListingsTest, AnEmptyDirectoryEndsWhereItBegan) {
  for (int i = 0; i < kTries / 10; ++i) {
    const std::string name = MakeOne(i);
    EXPECT_EQ(StatError(At(name + "/x")), ENOENT);
    DIR* const directory = opendir(At(name).c_str());
    ASSERT_NE(directory, nullptr);
    for (int dots = 0; dots < 2; ++dots) ASSERT_NE(readdir(directory), nullptr);
    ASSERT_TRUE(Make(Other(name + "/x")));
    EXPECT_EQ(readdir(directory), nullptr) << i;
    closedir(directory);
    EXPECT_EQ(ListingOf(At(name)), Names{"x"}) << i;
    EXPECT_EQ(StatError(At(name + "/x")), 0) << i;
  }
}

TEST_P(MountListingsTest, ListedDirectoriesAreDirectories) {
  int wrong = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = MakeOne(i);
    const std::string from = i % 2 == 0 ? "file" : "directory";
    const std::string to = i % 2 == 0 ? "directory" : "file";
    const auto make = [&](const std::string& type) {
      const std::string path = Other(name + "/x");
      ASSERT_TRUE(type == "file" ? Make(path) : mkdir(path.c_str(), 0755) == 0);
    };
    make(from);
    EXPECT_EQ(TypeOf(At(name + "/x")), from);
    ASSERT_EQ(remove(Other(name + "/x").c_str()), 0);
    make(to);
    ASSERT_EQ(ListingOf(At(name)), Names{"x"});
    wrong += TypeOf(At(name + "/x")) != to;
  }
  EXPECT_EQ(wrong, 0) << "of " << kTries;
}

TEST_P(MountListingsTest, NameThatRefusedAMkdirExists) {
  int wrong = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = MakeOne(i);
    EXPECT_EQ(StatError(At(name + "/x")), ENOENT);
    ASSERT_EQ(mkdir(Other(name + "/x").c_str(), 0755), 0);
    EXPECT_EQ(ErrorOf(mkdir(At(name + "/x").c_str(), 0755)), EEXIST);
    wrong += TypeOf(At(name + "/x")) != "directory";
  }
  EXPECT_EQ(wrong, 0) << "of " << kTries;
}

// One request: a GETATTR of a directory whose listing the kernel has, the READDIR of another.
TEST_P(MountListingsTest, AnOpenAsksOnce) {
  for (int i = 0; i < 50; ++i) File(fmt::format("d/{}", i));
  const auto count = [this] {
    const uint64_t before = Rpcs();
    EXPECT_EQ(ListingOf(At("d")).size(), 50U);
    return Rpcs() - before;
  };
  (void)count();
  EXPECT_EQ(count(), 1U) << "as before";
  EXPECT_EQ(count(), 1U) << "as before";
  ASSERT_EQ(unlink(At("d/0").c_str()), 0);
  ASSERT_TRUE(Make(At("d/0")));
  EXPECT_EQ(count(), 1U) << "after changes of this client";
  ASSERT_EQ(unlink(Other("d/0").c_str()), 0);
  ASSERT_TRUE(Make(Other("d/0")));
  EXPECT_EQ(count(), 2U) << "after changes of another client";
}

INSTANTIATE_TEST_SUITE_P(Versions, MountListingsTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
