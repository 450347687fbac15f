#include "nfsclient/mount/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <string>
#include <utility>
#include <vector>

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

}  // namespace
}  // namespace nfswalk::mount
