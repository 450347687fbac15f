// `nfswalk mount`: a file stays one file through all that the kernel keeps of it (INODE-27), and
// opens again once the server knows it again (ATTR-8). Two mounts of a server, plain system calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

class MountOneInode : public MountPair {
 protected:
  void Make(const std::string& name, const std::string& text) const {
    EXPECT_EQ(WriteText(Other(name), text), 0);
  }
  // Makes the mount look the names of a directory up again: it notices that another client has
  // changed it. Returns once the kernel has asked for `name`.
  void LookUpAgain(const std::string& directory, const std::string& name) {
    const std::string made = fmt::format("{}/made{}", directory, ++made_);
    Make(made, "");
    EXPECT_EQ(WriteText(At(made + "here"), ""), 0);
    EXPECT_TRUE(Eventually([&] {
      const uint64_t before = Counted("fuse_requests_total", "LOOKUP");
      (void)StatOf(At(name));
      return Counted("fuse_requests_total", "LOOKUP") > before;
    }));
  }
  // As of a path that another client has moved, and whose name has another file since.
  void RemoveStaleName(bool by_rename) {
    for (const char* directory : {"d", "e"}) ASSERT_EQ(mkdir(Other(directory).c_str(), 0777), 0);
    for (const char* name : {"d/p", "d/n"}) Make(name, "old\n");
    EXPECT_EQ(TextOf(At("d/p")), "old\n");
    ASSERT_EQ(rename(Other("d/p").c_str(), Other("e/z").c_str()), 0);
    Make("d/p", "new\n");
    EXPECT_EQ(TextOf(At("e/z")), "old\n");
    const int removed = by_rename ? rename(At("d/n").c_str(), At("d/p").c_str())
                                  : unlink(At("d/p").c_str());
    EXPECT_EQ(ErrorOf(removed), 0);
  }
  // An append and a read of what is there, each by a file of its own, and the link count.
  void ExpectUsable(const std::string& name, std::string text) {
    for (int i = 0; i < 3; ++i) {
      SCOPED_TRACE(i);
      LookUpAgain(std::filesystem::path(name).parent_path(), name);
      EXPECT_EQ(StatOf(At(name)).st_nlink, 1u);
      EXPECT_EQ(TextOf(At(name)), text);
      const std::string line = fmt::format("line {}\n", i);
      Descriptor file(open(At(name).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      ASSERT_GE(file.fd, 0) << errno;
      EXPECT_EQ(write(file.fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
      text += line;
      EXPECT_EQ(StatOf(At(name)).st_size, static_cast<off_t>(text.size()));
    }
    EXPECT_EQ(TextOf(Backing(name)), text);
  }
  // A program that goes on at the end of its file, while the kernel looks its name up.
  void ExpectNoLineLost(const std::string& name, std::string text) {
    Descriptor file(open(At(name).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_GE(file.fd, 0) << errno;
    for (int i = 0; i < 4; ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(lseek(file.fd, 0, SEEK_END), static_cast<off_t>(text.size()));
      const std::string line = fmt::format("line {}\n", i);
      EXPECT_EQ(write(file.fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
      text += line;
      LookUpAgain(std::filesystem::path(name).parent_path(), name);
      EXPECT_EQ(StatOf(At(name)).st_size, static_cast<off_t>(text.size()));
    }
    EXPECT_EQ(fsync(file.fd), 0);
    EXPECT_EQ(TextOf(Backing(name)), text);
  }

 private:
  int made_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Versions, MountOneInode, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(MountOneInode, AFileWhoseStaleNameIsRemovedIsUsable) {
  MountBoth("actimeo=600");
  ASSERT_NO_FATAL_FAILURE(RemoveStaleName(false));
  ExpectUsable("e/z", "old\n");
}

TEST_P(MountOneInode, AFileWhoseStaleNameIsReplacedIsUsable) {
  MountBoth("actimeo=600");
  ASSERT_NO_FATAL_FAILURE(RemoveStaleName(true));
  ExpectUsable("e/z", "old\n");
}

TEST_P(MountOneInode, AFileWhoseStaleNameIsRemovedLosesNothing) {
  MountBoth("actimeo=600");
  ASSERT_NO_FATAL_FAILURE(RemoveStaleName(false));
  LookUpAgain("e", "e/z");
  ExpectNoLineLost("e/z", "old\n");
}

TEST_P(MountOneInode, AnOpenFileThatOthersHaveLinkedIsRemoved) {
  MountBoth("actimeo=600");
  for (const char* directory : {"d", "e"}) ASSERT_EQ(mkdir(Other(directory).c_str(), 0777), 0);
  Make("d/log", "old\n");
  {
    const Descriptor open_file(open(At("d/log").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_GE(open_file.fd, 0);
    ASSERT_EQ(link(Other("d/log").c_str(), Other("e/log").c_str()), 0);
    EXPECT_EQ(unlink(At("d/log").c_str()), 0);
    EXPECT_EQ(TextOf(At("e/log")), "old\n");
  }
  // The last close is answered before the hidden name is removed.
  EXPECT_TRUE(Eventually([&] { return std::filesystem::is_empty(Backing("d")); }));
  LookUpAgain("e", "e/log");
  ExpectNoLineLost("e/log", "old\n");
}

// A server that does not know the files for a while.
class MountOfAnExport : public MountRun {
 protected:
  void TearDown() override {
    server_->Withdraw(false);
    MountRun::TearDown();
  }
  // Restarts the server with or without its export.
  static void Withdraw(bool withdrawn) {
    server_->Kill();
    server_->Withdraw(withdrawn);
    ASSERT_EQ(server_->Restart(), "");
  }
  int StatError(const std::string& name) const {
    struct stat found{};
    return ErrorOf(stat(At(name).c_str(), &found));
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, MountOfAnExport, fixtures::AllVersions(),
                         fixtures::VersionTestName);

// While the server does not know the files, each answer is ESTALE. Then those that were open
// meanwhile open as those that were not.
TEST_P(MountOfAnExport, FilesThatWereStaleOpenAgain) {
  for (const char* name : {"open", "closed"}) File(name, "text\n");
  Mount("actimeo=1");
  Descriptor held(open(At("open").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_GE(held.fd, 0);
  EXPECT_EQ(TextOf(At("closed")), "text\n");
  ASSERT_NO_FATAL_FAILURE(Withdraw(true));
  struct stat found{};
  EXPECT_TRUE(Eventually([&] { return ErrorOf(fstat(held.fd, &found)) == ESTALE; }));
  EXPECT_TRUE(Eventually([&] { return StatError("closed") == ESTALE; }));
  ASSERT_NO_FATAL_FAILURE(Withdraw(false));
  EXPECT_TRUE(Eventually([&] { return TextOf(At("closed")) == "text\n"; }));
  for (int i = 0; i < 2; ++i) {
    SCOPED_TRACE(i == 0 ? "while it is open" : "after its close");
    EXPECT_EQ(TextOf(At("open")), "text\n");
    EXPECT_EQ(OpenError(At("open"), O_RDWR), 0);
    EXPECT_EQ(StatError("open"), 0);
    if (held.fd >= 0) close(std::exchange(held.fd, -1));
  }
  EXPECT_EQ(WriteText(At("open"), "more\n"), 0);
  EXPECT_EQ(TextOf(Backing("open")), "more\n");
}

}  // namespace
}  // namespace nfswalk
