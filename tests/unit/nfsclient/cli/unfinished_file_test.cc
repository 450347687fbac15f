#include "nfsclient/cli/copy/unfinished_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "tests/fixtures/thread_shortage.h"

namespace nfswalk::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class UnfinishedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    fs::create_directory(directory_);
    opened_ = std::move(
        *LocalDescriptor::OpenDirectory(AT_FDCWD, directory_, LocalDescriptor::LastLink::kRefuse));
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::errc Write(UnfinishedFile& file, std::string_view text) {
    return file.Write(std::as_bytes(std::span(text)));
  }

  const fs::path directory_ = fs::path(testing::TempDir()) / "unfinished_file_test";
  LocalDescriptor opened_;
};

TEST_F(UnfinishedFileTest, HasItsNameOnlyAtTheEnd) {
  UnfinishedFile file;
  ASSERT_EQ(file.Create(opened_.get(), 0600), std::errc{});
  ASSERT_EQ(Write(file, "hello "), std::errc{});
  ASSERT_EQ(Write(file, "world"), std::errc{});
  EXPECT_FALSE(fs::exists(directory_ / "f"));
  ASSERT_EQ(file.Finish("f"), std::errc{});
  EXPECT_THAT(Names(), ElementsAre("f"));
  EXPECT_EQ(Text("f"), "hello world");
}

TEST_F(UnfinishedFileTest, IsGoneIfItIsNotFinished) {
  {
    UnfinishedFile file, link;
    ASSERT_EQ(file.Create(opened_.get(), 0600), std::errc{});
    ASSERT_EQ(link.CreateLink(opened_.get(), "/no/such"), std::errc{});
    EXPECT_EQ(Names().size(), 2u);
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(UnfinishedFileTest, ReplacesAFileButNoDirectory) {
  std::ofstream(directory_ / "f") << "old";
  fs::create_directory(directory_ / "d");
  {
    UnfinishedFile file;
    ASSERT_EQ(file.Create(opened_.get(), 0600), std::errc{});
    ASSERT_EQ(Write(file, "new"), std::errc{});
    EXPECT_EQ(file.Finish("d"), std::errc::is_a_directory);
    EXPECT_EQ(file.Finish("f"), std::errc{});
  }
  EXPECT_EQ(Text("f"), "new");
  EXPECT_THAT(Names(), ElementsAre("d", "f"));
}

TEST_F(UnfinishedFileTest, KeepsModesAndTimesThatItIsGiven) {
  Attributes attributes;
  attributes.atime = {1'000'000'000, 5};
  attributes.mtime = {1'100'000'000, 7};
  UnfinishedFile file, link;
  ASSERT_EQ(file.Create(opened_.get(), 0600), std::errc{});
  ASSERT_EQ(file.SetMode(0751), std::errc{});
  ASSERT_EQ(file.SetTimes(attributes), std::errc{});
  ASSERT_EQ(file.Finish("f"), std::errc{});
  ASSERT_EQ(link.CreateLink(opened_.get(), "f"), std::errc{});
  ASSERT_EQ(link.SetTimes(attributes), std::errc{});
  ASSERT_EQ(link.Finish("l"), std::errc{});
  for (const char* name : {"f", "l"}) {
    struct stat found{};
    ASSERT_EQ(lstat((directory_ / name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mtim.tv_sec, 1'100'000'000) << name;
    EXPECT_EQ(found.st_mtim.tv_nsec, 7) << name;
    EXPECT_EQ(found.st_atim.tv_sec, 1'000'000'000) << name;
  }
  EXPECT_EQ(fs::status(directory_ / "f").permissions(), static_cast<fs::perms>(0751));
  EXPECT_EQ(fs::read_symlink(directory_ / "l"), "f");
}

TEST_F(UnfinishedFileTest, SignalsStayWhatTheyAreWithoutAThreadForThem) {
  const auto handler = [] {
    struct sigaction action {};
    EXPECT_EQ(sigaction(SIGTERM, nullptr, &action), 0);
    return action.sa_handler;
  };
  const auto before = handler();
  for (const int threads : {0, 1}) {
    const fixtures::ThreadShortage shortage(threads);
    const InterruptGuard guard([] {});
    EXPECT_EQ(shortage.occurred(), threads == 0);
    EXPECT_EQ(handler() == before, threads == 0);
  }
  EXPECT_EQ(handler(), before);
}

TEST_F(UnfinishedFileTest, NeedsADirectoryThatIsThere) {
  fs::remove_all(directory_);
  UnfinishedFile file, link;
  EXPECT_EQ(file.Create(opened_.get(), 0600), std::errc::no_such_file_or_directory);
  EXPECT_EQ(link.CreateLink(opened_.get(), "x"), std::errc::no_such_file_or_directory);
}

// Whoever may write in the directory may put a file of his there meanwhile.
TEST_F(UnfinishedFileTest, TakesTheRightsOfTheFileThatWasThereAlone) {
  const std::string name = directory_ / "target";
  struct stat taken{};
  ASSERT_TRUE(std::ofstream(name));
  ASSERT_EQ(chmod(name.c_str(), 0640), 0);
  const LocalDescriptor replaced(open(name.c_str(), O_PATH | O_CLOEXEC));
  UnfinishedFile file;
  ASSERT_EQ(file.Create(opened_.get(), 0600), std::errc{});
  ASSERT_EQ(rename(name.c_str(), (name + ".old").c_str()), 0);
  EXPECT_EQ(file.TakeRights("target", replaced), std::errc::no_such_file_or_directory);
  ASSERT_TRUE(std::ofstream(name));
  ASSERT_EQ(chmod(name.c_str(), 0666), 0);
  EXPECT_EQ(file.TakeRights("target", replaced), std::errc::no_such_file_or_directory);
  EXPECT_EQ(file.TakeRights("target.old", replaced), std::errc{});
  ASSERT_EQ(file.Finish("target"), std::errc{});
  ASSERT_EQ(stat(name.c_str(), &taken), 0);
  EXPECT_EQ(taken.st_mode & 07777, 0640U);
}

}  // namespace
}  // namespace nfswalk::cli
