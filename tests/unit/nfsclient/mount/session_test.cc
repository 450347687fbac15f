#include "nfsclient/mount/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/mount/pinned_mount_point.h"
#include "tests/fixtures/served_mount.h"

namespace nfswalk::mount {
namespace {

using testing::HasSubstr;

class SessionTest : public ServedMount {
 protected:
  // Serves, until it is unmounted at once; returns the error.
  std::string ErrorOf(std::vector<std::string> options) {
    was_mounted_ = false;
    const auto served = Serve(*client_, options_, {directory_, std::move(options)}, [this] {
      was_mounted_ = true;
      EXPECT_EQ(umount2(directory_.c_str(), MNT_DETACH), 0);
    });
    return served ? "" : served.error();
  }

  bool was_mounted_ = false;
};

TEST_F(SessionTest, AMountWithWhatWasAskedForIsServed) {
  EXPECT_EQ(ErrorOf({"fsname=a,allow_other\\", "ro"}), "");
  EXPECT_TRUE(was_mounted_);
}

TEST_F(SessionTest, AMountThatAllowsMoreIsUndone) {
  // libfuse has the kernel allow others, too.
  EXPECT_THAT(ErrorOf({"allow_root"}), HasSubstr("mounts with 'allow_other'"));
  EXPECT_FALSE(was_mounted_);
  EXPECT_THAT(ErrorOf({"allow_other"}), HasSubstr("mounts without 'default_permissions'"));
  EXPECT_FALSE(was_mounted_);
}

// Its path had none when it was found: whoever owns what is above it has put it there since.
TEST_F(SessionTest, ALinkInThePathOfTheMountPointIsRefused) {
  std::filesystem::create_directories(directory_ + "/other/mnt");
  std::filesystem::create_directory(directory_ + "/above");
  std::filesystem::create_symlink("other", directory_ + "/link");
  std::filesystem::create_symlink("../other/mnt", directory_ + "/above/mnt");
  for (const char* name : {"/link/mnt", "/above/mnt"}) {
    const auto served = Serve(*client_, options_, {directory_ + name, {}}, [&] {
      ADD_FAILURE() << name << " is mounted";
      EXPECT_EQ(umount2((directory_ + "/other/mnt").c_str(), MNT_DETACH), 0);
    });
    ASSERT_FALSE(served.has_value()) << name;
    EXPECT_THAT(served.error(), HasSubstr("a link took the place")) << name;
  }
  for (const char* name : {"/link", "/above", "/other"}) {
    std::filesystem::remove_all(directory_ + name);
  }
}

// fusermount3 mounts by path, and checks nothing where root calls it.
TEST_F(SessionTest, APathThatOthersMayChangeIsRefusedWithAutoUnmount) {
  const std::string above = directory_ + "/above", mnt = above + "/mnt";
  std::filesystem::create_directories(mnt);
  struct Case {
    const char* directory;
    uid_t owner;
    mode_t mode;
    const char* changeable;  // "": none
  };
  const Case cases[] = {{"", 0, 0755, ""},           {"", 2001, 0755, "/above/mnt"},
                        {"", 0, 0775, "/above/mnt"}, {"", 0, 0757, "/above/mnt"},
                        {"", 0, 01777, ""},          {"/mnt", 2001, 0777, ""}};
  for (const auto& [directory, owner, mode, changeable] : cases) {
    SCOPED_TRACE(testing::Message() << directory << " " << owner << " " << std::oct << mode);
    ASSERT_EQ(chown((above + directory).c_str(), owner, 0), 0);
    ASSERT_EQ(chmod((above + directory).c_str(), mode), 0);
    const PinnedMountPoint point(mnt, /*auto_unmount=*/true);
    EXPECT_EQ(point.error().empty(), *changeable == '\0') << point.error();
    if (*changeable != '\0') {
      EXPECT_THAT(point.error(), HasSubstr("'" + directory_ + changeable + "'"));
    }
    ASSERT_EQ(chown((above + directory).c_str(), 0, 0), 0);
    ASSERT_EQ(chmod((above + directory).c_str(), 0755), 0);
  }
  // A user's own, which he may move, in a directory where all may write.
  ASSERT_EQ(chmod(above.c_str(), 01777), 0);
  ASSERT_EQ(chown(mnt.c_str(), 2001, 0), 0);
  EXPECT_THAT(PinnedMountPoint(mnt, true).error(), HasSubstr("'" + mnt + "'"));
  EXPECT_EQ(PinnedMountPoint(mnt, false).error(), "") << "it is opened";
  std::filesystem::remove_all(above);
}

// In a mount namespace of his own, from before, a user may move the mount point, as it is none there.
TEST_F(SessionTest, TheEndUnmountsNothingElseThatHasTheNameByNow) {
  const std::string mnt = directory_ + "/mnt", moved = directory_ + "/moved",
                    other = directory_ + "/other";
  for (const std::string& name : {mnt, other}) std::filesystem::create_directory(name);
  ASSERT_EQ(::mount("none", other.c_str(), "tmpfs", 0, nullptr), 0);
  const pid_t user = fork();
  if (user == 0) {
    const bool is_alone = unshare(CLONE_NEWNS) == 0 &&
                          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!is_alone || raise(SIGSTOP) != 0) _exit(1);
    _exit(rename(mnt.c_str(), moved.c_str()) == 0 && symlink("other", mnt.c_str()) == 0 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(user, &status, WUNTRACED), user);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  const auto served = Serve(*client_, options_, {mnt, {}}, [&] {
    EXPECT_EQ(kill(user, SIGCONT), 0);
    EXPECT_EQ(waitpid(user, &status, 0), user);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(kill(getpid(), SIGTERM), 0);
  });
  EXPECT_TRUE(served.has_value()) << (served ? "" : served.error());
  EXPECT_EQ(umount2(other.c_str(), UMOUNT_NOFOLLOW), 0) << "it was unmounted";
  EXPECT_EQ(umount2(moved.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW), 0);
  for (const std::string& name : {mnt, moved, other}) std::filesystem::remove(name);
}

}  // namespace
}  // namespace nfswalk::mount
