// `nfswalk cp -r` from this machine, of a tree in which file systems are mounted meanwhile, as
// autofs does when a directory is opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "nfsclient/cli/copy/copy_source.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Calls `before` between the lstat(2) of a file and its openat(2).
class Recorder final : public TreeVisitor {
 public:
  explicit Recorder(std::function<void(const std::string&)> before) : before_(std::move(before)) {}

  void Enter(const TreeEntry& entry) override {
    entered.push_back(entry.path);
    before_(entry.path);
  }
  void Fail(const std::string& path, std::errc error) override {
    failed.push_back(path + ": " + std::strerror(static_cast<int>(error)));
  }
  bool done() const override { return false; }

  std::vector<std::string> entered, failed;

 private:
  const std::function<void(const std::string&)> before_;
};

class LocalMountTest : public testing::Test {
 protected:
  void SetUp() override {
    // This thread's own namespace, which ends with it.
    if (unshare(CLONE_NEWNS) != 0) GTEST_SKIP() << "mount namespaces: " << strerror(errno);
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0) << strerror(errno);
    char pattern[] = "/tmp/nfswalk_local_mount_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    top_ = pattern;
    std::filesystem::create_directories(top_ + "/tree/auto");
    std::ofstream(top_ + "/tree/auto/below") << "below";
  }
  void TearDown() override {
    if (top_.empty()) return;
    umount2((top_ + "/tree/auto").c_str(), MNT_DETACH);
    std::filesystem::remove_all(top_);
  }
  std::string Auto() const { return top_ + "/tree/auto"; }
  void MountThere() const {
    ASSERT_EQ(mount("tmpfs", Auto().c_str(), "tmpfs", 0, nullptr), 0) << strerror(errno);
    std::ofstream(Auto() + "/inside") << "inside";
  }

  TaskThreads threads_{0, 0};
  std::string top_;
};

TEST_F(LocalMountTest, AFileSystemThatComesWithTheOpenIsEntered) {
  // As an entry, and as what the user named.
  for (const std::string& start : {top_ + "/tree", Auto()}) {
    Recorder seen([this](const std::string& path) {
      if (path == Auto()) MountThere();
    });
    const auto source = LocalSource(threads_);
    source->Walk(start, {}, seen);
    EXPECT_THAT(seen.failed, IsEmpty());
    ASSERT_GE(seen.entered.size(), 2u);
    EXPECT_EQ(seen.entered.back(), Auto() + "/inside");
    // Files of it are read.
    const auto found = source->Find(seen.entered.back());
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(source->Open(*found).has_value());
    ASSERT_EQ(umount(Auto().c_str()), 0) << strerror(errno);
  }
}

TEST_F(LocalMountTest, AnotherDirectoryOfThatNameIsNot) {
  const std::string other = top_ + "/other";
  std::filesystem::create_directories(other);
  std::ofstream(other + "/secret") << "secret";
  for (const bool is_link : {false, true}) {
    Recorder seen([&](const std::string& path) {
      if (path != Auto()) return;
      std::filesystem::rename(Auto(), top_ + "/moved");
      if (is_link) {
        // To the root of a mount, too.
        std::filesystem::create_directory_symlink("/proc", Auto());
      } else {
        std::filesystem::rename(other, Auto());
      }
    });
    LocalSource(threads_)->Walk(top_ + "/tree", {}, seen);
    EXPECT_THAT(seen.entered, ElementsAre(top_ + "/tree", Auto()));
    EXPECT_THAT(seen.failed, ElementsAre(Auto() + ": Stale file handle"));
    std::filesystem::rename(Auto(), is_link ? top_ + "/link" : other);
    std::filesystem::rename(top_ + "/moved", Auto());
  }
}

}  // namespace
}  // namespace nfswalk::cli
