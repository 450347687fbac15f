// `nfswalk mount` of an export with a second file system inside, whose inode numbers are the same.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

using fixtures::NfsServer;
using protocol::FakeNode;

// Enough for several requests, of which the kernel sends the first as READDIRPLUS.
constexpr int kManyNames = 600;

// d_ino of each name, as the system lists them.
std::map<std::string, uint64_t> ListedNumbers(const std::string& directory) {
  std::map<std::string, uint64_t> numbers;
  DIR* const open = opendir(directory.c_str());
  EXPECT_NE(open, nullptr) << directory;
  while (const dirent* const entry = readdir(open)) numbers.emplace(entry->d_name, entry->d_ino);
  closedir(open);
  return numbers;
}

// Version 4 alone: nfs-ganesha's version 3 has ESTALE behind the crossing.
class MountCrossingTest : public MountRun {
 protected:
  void SetUp() override {
    MountRun::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto started = NfsServer::Start({.inner_file_system = true, .caches_names = false});
    ASSERT_TRUE(started.has_value()) << started.error();
    crossing_ = std::move(*started);
    crossing_scope_ = std::make_unique<NfsServer::NetworkScope>(*crossing_);
    root_ = crossing_->backing_directory();
    // tmpfs counts: both file systems give the next file the same number.
    while (NumberOfNew("probe") < NumberOfNew("inner/probe")) NumberOfNew("probe");
    while (NumberOfNew("inner/probe") < NumberOfNew("probe")) NumberOfNew("inner/probe");
  }
  void TearDown() override {
    MountRun::TearDown();
    crossing_scope_.reset();
  }

  uint64_t NumberOfNew(const std::string& name) const {
    File(name);
    const uint64_t number = StatOf(Backing(name)).st_ino;
    unlink(Backing(name).c_str());
    return number;
  }
  // Makes files of one name and one inode number in both file systems.
  void FileInBoth(const std::string& name) const {
    File(name, "outer " + name);
    File("inner/" + name, "inner " + name);
    ASSERT_EQ(StatOf(Backing(name)).st_ino, StatOf(Backing("inner/" + name)).st_ino);
  }
  void MountIt(const std::string& options = "") {
    MountUrl(crossing_->Url("", GetParam()), options);
  }
  // Runs a shell command in the mount, which is to have no complaints.
  void Work(const std::string& command) const {
    const ProgramRun run = RunProgram({"sh", "-ec", "cd '" + mount_point() + "'; " + command});
    EXPECT_EQ(run.exit_code, 0) << command;
    EXPECT_EQ(run.err, "") << command;
  }

  std::unique_ptr<NfsServer> crossing_;
  std::unique_ptr<NfsServer::NetworkScope> crossing_scope_;
};

TEST_P(MountCrossingTest, InodeNumbersTellFileSystemsApart) {
  for (const char* name : {"a", "b", "c"}) FileInBoth(name);
  MountIt();
  std::map<uint64_t, std::string> seen;
  for (const char* name : {"", "inner", "a", "b", "c", "inner/a", "inner/b", "inner/c"}) {
    const uint64_t number = StatOf(At(name)).st_ino;
    const auto [there, is_new] = seen.emplace(number, name);
    EXPECT_TRUE(is_new) << name << " and " << there->second << " are " << number;
    const bool is_inside = std::string(name).starts_with("inner");
    EXPECT_EQ(is_inside, number != StatOf(Backing(name)).st_ino) << name;
    EXPECT_EQ(is_inside, number >> 63 == 1) << name;
  }
}

TEST_P(MountCrossingTest, ListingsHaveTheNumbersThatStatHas) {
  for (int i = 0; i < kManyNames; ++i) FileInBoth(fmt::format("name-of-some-length-{}", i));
  // Listed first, and with all names looked up before.
  for (const bool warm : {false, true}) {
    MountIt();
    if (warm) Work("stat * inner/* > /dev/null");
    for (const std::string& directory : {std::string("."), std::string("inner")}) {
      auto listed = ListedNumbers(At(directory));
      ASSERT_GE(listed.size(), size_t{kManyNames});
      if (directory == ".") {
        listed.erase("..");
      }
      for (const auto& [name, number] : listed) {
        EXPECT_EQ(number, StatOf(At(directory + "/" + name)).st_ino) << directory << "/" << name;
      }
    }
    EXPECT_EQ(Unmount(), 0) << Messages();
  }
}

// tar and cp -a take two names with one number for links of one file.
TEST_P(MountCrossingTest, CopiesHaveTheLinksOfTheirOwnFileSystemOnly) {
  constexpr int kFiles = 20;
  Directory("ledgers");
  Directory("inner/photos");
  for (int i = 0; i < kFiles; ++i) {
    const std::string ledger = fmt::format("ledgers/{}", i);
    const std::string photo = fmt::format("inner/photos/{}", i);
    File(ledger, ledger);
    File(photo, photo);
    Shell(fmt::format("ln {0} {0}.link; ln {1} {1}.link", ledger, photo));
    ASSERT_EQ(StatOf(Backing(ledger)).st_ino, StatOf(Backing(photo)).st_ino);
  }
  char pattern[] = "/tmp/nfswalk_copies_XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  const std::string here = pattern;
  MountIt();
  for (const char* copy : {"tar cf - ledgers inner | tar xf - -C", "cp -a ledgers inner"}) {
    const std::string to = here + "/copy";
    Work(fmt::format("mkdir {0}; {1} {0}", to, copy));
    Shell(fmt::format("diff -r ledgers {0}/ledgers && diff -r inner {0}/inner", to));
    for (int i = 0; i < kFiles; ++i) {
      for (const std::string& name :
           {fmt::format("/ledgers/{}", i), fmt::format("/inner/photos/{}", i)}) {
        EXPECT_EQ(StatOf(to + name).st_ino, StatOf(to + name + ".link").st_ino) << copy << name;
        EXPECT_EQ(StatOf(to + name).st_nlink, 2u) << copy << name;
      }
    }
    Shell("rm -r " + to);
  }
  rmdir(pattern);
}

TEST_P(MountCrossingTest, TreeWalksFindNoLoop) {
  FileInBoth("f");
  Directory("inner/deep");
  MountIt();
  const ProgramRun found = RunProgram({"find", mount_point(), "-printf", "%P\n"});
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_EQ(found.err, "");
  EXPECT_THAT(found.lines(),
              testing::UnorderedElementsAre("", "f", "inner", "inner/deep", "inner/f"));
  Work("du -a . > /dev/null; ls -lR . > /dev/null; diff -r inner ./inner; test f -ef ./f");
  EXPECT_NE(RunProgram({"test", At("f"), "-ef", At("inner/f")}).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountCrossingTest, testing::Values(4),
                         fixtures::VersionTestName);

// A server in memory, whose version 3 crosses, too, and that knows what is mounted on.
class MountFsidTest : public MountRun {
 protected:
  void MountFake(const std::string& options = "") {
    const uint16_t port = GetParam() == 3 ? nfs3_.port() : nfs4_.port();
    const std::string url =
        GetParam() == 3
            ? fmt::format("nfs://127.0.0.1/export?version=3&port={0}&mountport={0}", port)
            : fmt::format("nfs://127.0.0.1/?version=4&port={}", port);
    MountUrl(url, options);
  }
  protocol::FakeTreeServer& fake() {
    return GetParam() == 3 ? static_cast<protocol::FakeTreeServer&>(nfs3_) : nfs4_;
  }

 private:
  protocol::FakeNfs3 nfs3_;
  protocol::FakeNfs4 nfs4_;
};

TEST_P(MountFsidTest, TheNumberIsThatOfFsidAndFileIdAndOfWhatIsCoveredInListings) {
  constexpr uint64_t kCovered = 1234;
  const uint64_t root = fake().Find("")->fileid;
  fake().Put("f", {});
  const uint64_t file = fake().Find("f")->fileid;
  const FakeNode::Type directory = FakeNode::Type::kDirectory;
  for (const uint64_t fsid : {7, 8}) {
    const std::string name = fmt::format("fs{}", fsid);
    fake().Put(name, {.type = directory, .fsid = fsid, .fileid = root, .covers = kCovered + fsid});
    fake().Put(name + "/f", {.fsid = fsid, .fileid = file});
  }
  MountFake();
  EXPECT_EQ(StatOf(At("")).st_ino, root);
  EXPECT_EQ(StatOf(At("f")).st_ino, file);
  std::set<uint64_t> seen{root, file};
  for (const char* name : {"fs7", "fs8", "fs7/f", "fs8/f"}) {
    EXPECT_TRUE(seen.insert(StatOf(At(name)).st_ino).second) << name;
  }
  const auto listed = ListedNumbers(mount_point());
  EXPECT_EQ(listed.at("."), root);
  EXPECT_EQ(listed.at("f"), file);
  EXPECT_EQ(listed.at("fs7"), kCovered + 7);
  EXPECT_EQ(listed.at("fs8"), kCovered + 8);
  const auto inside = ListedNumbers(At("fs7"));
  EXPECT_EQ(inside.at("."), StatOf(At("fs7")).st_ino);
  EXPECT_EQ(inside.at(".."), root);
  EXPECT_EQ(inside.at("f"), StatOf(At("fs7/f")).st_ino);
}

// ext4 gives a new file the number of one that was removed, in a handle of another generation.
TEST_P(MountFsidTest, AFileIdThatIsUsedAgainIsAnotherFile) {
  constexpr uint64_t kFsid = 7;
  constexpr uint64_t kFileid = 50;
  fake().Put("d", {.type = FakeNode::Type::kDirectory, .fsid = kFsid, .fileid = 2});
  fake().Put("d/old", {.fsid = kFsid, .fileid = kFileid, .data = "old"});
  MountFake();
  EXPECT_EQ(TextOf(At("d/old")), "old");
  const Descriptor held(open(At("d/old").c_str(), O_RDONLY | O_CLOEXEC));
  fake().Erase("d/old");
  fake().Put("d/new", {.fsid = kFsid, .fileid = kFileid, .generation = 1, .data = "anew"});
  // The name is asked for first: the kernel still knows the removed file.
  EXPECT_EQ(TextOf(At("d/new")), "anew");
  EXPECT_EQ(StatOf(At("d/new")).st_size, 4);
  struct stat of_held{};
  const int error = ErrorOf(fstat(held.fd, &of_held));
  EXPECT_TRUE(error == ESTALE || (error == 0 && of_held.st_size == 3)) << error;
}

INSTANTIATE_TEST_SUITE_P(Versions, MountFsidTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

// nfs-ganesha 4.3 sends fsid 0 now and then, over version 3.
class MountMistakenFsidTest : public MountFsidTest {
 protected:
  using Mistake = std::function<void(protocol::ToldAttributes&)>;

  // A file and a directory in a directory, whose attributes these change.
  void PutTree(const Mistake& of_directory, const Mistake& of_entries) {
    fake().Put("d", {.type = FakeNode::Type::kDirectory, .lie = of_directory});
    fake().Put("d/file", {.lie = of_entries});
    fake().Put("d/directory", {.type = FakeNode::Type::kDirectory, .lie = of_entries});
    for (const char* name : {"file", "directory"}) {
      numbers_[name] = fake().Find(std::string("d/") + name)->fileid;
    }
  }
  // The first of every two replies is mistaken.
  static Mistake EveryOther() {
    return [replies = 0](protocol::ToldAttributes& told) mutable {
      if (++replies % 2 == 1) told.fsid = 0;
    };
  }
  void ExpectNumbers() {
    MountFake("actimeo=0");
    for (int i = 0; i < 20; ++i) {
      const auto listed = ListedNumbers(At("d"));
      EXPECT_EQ(listed.at("."), StatOf(At("d")).st_ino);
      for (const auto& [name, number] : numbers_) {
        EXPECT_EQ(listed.at(name), number) << name << " in listing " << i;
        EXPECT_EQ(StatOf(At("d/" + name)).st_ino, number) << name << " after listing " << i;
      }
    }
  }

  std::map<std::string, uint64_t> numbers_;
};

TEST_P(MountMistakenFsidTest, FilesAreShownWithTheirOwn) {
  PutTree(nullptr, EveryOther());
  ExpectNumbers();
}

TEST_P(MountMistakenFsidTest, AListedDirectoryIsShownWithItsOwn) {
  PutTree(EveryOther(), nullptr);
  ExpectNumbers();
}

// The LOOKUP and the GETATTR behind it.
TEST_P(MountMistakenFsidTest, AFileIsShownWithItsDirectorysAlthoughTwoRepliesAreMistaken) {
  fake().Put("f", {.lie = [replies = 0](protocol::ToldAttributes& told) mutable {
               if (++replies <= 2) told.fsid = 0;
             }});
  MountFake();
  EXPECT_EQ(StatOf(At("f")).st_ino, fake().Find("f")->fileid);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountMistakenFsidTest, testing::Values(3),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
