#include "nfsclient/mount/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk::mount {
namespace {

using testing::HasSubstr;

class SessionTest : public MemoryMount {
 protected:
  // Before any thread begins.
  static void SetUpTestSuite() { BlockEndingSignals(); }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts by itself: needs root";
    if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
    char pattern[] = "/tmp/nfswalk_session_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    Mount();
  }
  void TearDown() override {
    if (directory_.empty()) return;
    EXPECT_NE(umount2(directory_.c_str(), MNT_DETACH), 0) << "still mounted";
    EXPECT_TRUE(std::filesystem::remove(directory_));
  }

  // Serves, until it is unmounted at once; returns the error.
  std::string ErrorOf(std::vector<std::string> options) {
    was_mounted_ = false;
    const auto served = Serve(*client_, options_, {directory_, std::move(options)}, [this] {
      was_mounted_ = true;
      EXPECT_EQ(umount2(directory_.c_str(), MNT_DETACH), 0);
    });
    return served ? "" : served.error();
  }

  std::string directory_;
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

}  // namespace
}  // namespace nfswalk::mount
