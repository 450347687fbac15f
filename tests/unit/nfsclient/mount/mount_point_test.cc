#include "nfsclient/mount/mount_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace nfswalk::mount {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// Nothing is mounted on a directory of these tests.
constexpr auto kNoSource = [](std::string_view) { return true; };

class MountPointTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/nfswalk_mount_point_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
    ASSERT_EQ(chmod(pattern, 0777), 0);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string Make(const std::string& name, mode_t mode = 0755) const {
    const std::string path = root_ + "/" + name;
    EXPECT_EQ(mkdir(path.c_str(), mode), 0);
    return path;
  }
  static std::string Refusal(const std::string& directory, bool nonempty = false) {
    const auto checked = CheckMountPoint(directory, kNoSource, nonempty);
    return checked ? "accepted" : checked.error();
  }
  // Returns what an ordinary user is told, with this PATH.
  static std::string RefusalOfUser(const std::string& directory, const char* path) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      setenv("PATH", path, 1);
      if (setresgid(4321, 4321, 4321) != 0 || setresuid(4321, 4321, 4321) != 0) _exit(1);
      const std::string said = Refusal(directory);
      _exit(write(ends[1], said.data(), said.size()) < 0);
    }
    close(ends[1]);
    char said[4096];
    const ssize_t count = read(ends[0], said, sizeof(said));
    close(ends[0]);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return {said, static_cast<size_t>(count)};
  }
  static bool HasDevice(mode_t mode) {
    struct stat found{};
    return stat("/dev/fuse", &found) == 0 && (found.st_mode & mode) == mode;
  }

  std::string root_;
};

TEST_F(MountPointTest, SaysWhatIsWrongWithADirectory) {
  std::ofstream(root_ + "/file") << "x";
  Make("full");
  Make("full/below");
  const struct {
    const char* name;
    const char* why;
  } cases[] = {
      {"none", "No such file or directory"},
      {"file", "Not a directory"},
      {"file/below", "Not a directory"},
      {"full", "'-o nonempty'"},
  };
  for (const auto& [name, why] : cases) {
    const std::string refusal = Refusal(root_ + "/" + name);
    EXPECT_THAT(refusal, StartsWith("'" + root_ + "/" + name + "': ")) << name;
    EXPECT_THAT(refusal, HasSubstr(why)) << name;
  }
}

TEST_F(MountPointTest, ReturnsAnAbsolutePath) {
  if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
  Make("empty");
  std::filesystem::create_directory_symlink("empty", root_ + "/link");
  std::filesystem::current_path(root_);
  EXPECT_EQ(CheckMountPoint("empty", kNoSource, false), root_ + "/empty");
  EXPECT_EQ(CheckMountPoint("./empty/../link/", kNoSource, false), root_ + "/empty");
  Make("empty/below");
  EXPECT_EQ(CheckMountPoint("empty", kNoSource, true), root_ + "/empty");
  std::filesystem::current_path("/");
}

TEST_F(MountPointTest, SaysWithoutTheDeviceWhatToDo) {
  if (access("/dev/fuse", F_OK) == 0) GTEST_SKIP() << "/dev/fuse is there";
  EXPECT_THAT(Refusal(Make("empty")), HasSubstr("modprobe fuse"));
}

TEST_F(MountPointTest, AUserMountsOnItsOwnDirectories) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const std::string others = Make("others"), own = Make("own"), shut = Make("shut");
  ASSERT_EQ(chown(own.c_str(), 4321, 4321), 0);
  ASSERT_EQ(chown(shut.c_str(), 4321, 4321), 0);
  ASSERT_EQ(chmod(shut.c_str(), 0500), 0);
  EXPECT_THAT(RefusalOfUser(others, "/bin"), HasSubstr("not a directory of this user's"));
  EXPECT_THAT(RefusalOfUser(shut, "/bin"), HasSubstr("not a directory of this user's"));
  const std::string refusal = RefusalOfUser(own, "/nowhere::/neither");
  if (HasDevice(0006)) {
    EXPECT_THAT(refusal, HasSubstr("install the package fuse3"));
  } else {
    EXPECT_THAT(refusal, AnyOf(HasSubstr("0666"), HasSubstr("modprobe fuse")));
  }
}

}  // namespace
}  // namespace nfswalk::mount
