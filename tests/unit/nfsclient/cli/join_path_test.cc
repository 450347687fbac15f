#include "nfsclient/cli/join_path.h"

#include <gtest/gtest.h>

namespace nfswalk::cli {
namespace {

TEST(JoinPath, PutsExactlyOneSlashBetween) {
  EXPECT_EQ(JoinPath("usr", "bin"), "usr/bin");
  EXPECT_EQ(JoinPath("usr/", "bin"), "usr/bin");
  EXPECT_EQ(JoinPath("/", "bin"), "/bin");
  EXPECT_EQ(JoinPath(".", "bin"), "./bin");
}

TEST(BaseName, IsTheLastComponentWithoutTrailingSlashes) {
  EXPECT_EQ(BaseName("usr/lib"), "lib");
  EXPECT_EQ(BaseName("usr/lib//"), "lib");
  EXPECT_EQ(BaseName("lib"), "lib");
  EXPECT_EQ(BaseName("/lib"), "lib");
  EXPECT_EQ(BaseName("/"), "/");
  EXPECT_EQ(BaseName("//"), "/");
  EXPECT_EQ(BaseName("x"), "x");
  EXPECT_EQ(BaseName(""), "");
}

}  // namespace
}  // namespace nfswalk::cli
