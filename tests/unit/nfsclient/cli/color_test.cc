#include "nfsclient/cli/color.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace nfswalk::cli {
namespace {

using protocol::FileType;
using testing::AllOf;
using testing::HasSubstr;

class Color : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
  }
  static std::string Name(FileType type, uint32_t mode) {
    Attributes attributes;
    attributes.type = type;
    attributes.mode = mode;
    return Colored("x", attributes);
  }
};

TEST_F(Color, IsForTerminalsUnlessOneSaysOtherwise) {
  EXPECT_TRUE(UseColor(ColorWhen::kAuto, true));
  EXPECT_FALSE(UseColor(ColorWhen::kAuto, false));
  EXPECT_TRUE(UseColor(ColorWhen::kAlways, false));
  EXPECT_FALSE(UseColor(ColorWhen::kNever, true));
}

TEST_F(Color, NoColorIsHonouredIfItIsNotEmpty) {
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(UseColor(ColorWhen::kAuto, true));
  setenv("NO_COLOR", "0", 1);
  EXPECT_FALSE(UseColor(ColorWhen::kAuto, true));
  EXPECT_TRUE(UseColor(ColorWhen::kAlways, true));
}

TEST_F(Color, ADumbTerminalGetsNone) {
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(UseColor(ColorWhen::kAuto, true));
}

TEST_F(Color, AWrongWordIsNamedWithTheRightOnes) {
  EXPECT_EQ(ParseColorWhen("auto"), ColorWhen::kAuto);
  EXPECT_EQ(ParseColorWhen("always"), ColorWhen::kAlways);
  EXPECT_EQ(ParseColorWhen("never"), ColorWhen::kNever);
  EXPECT_THAT(ParseColorWhen("yes").error(),
              AllOf(HasSubstr("'yes'"), HasSubstr("auto, always or never")));
}

TEST_F(Color, TypesHaveColoursAndPlainFilesNone) {
  EXPECT_EQ(Name(FileType::kRegular, 0644), "x");
  EXPECT_EQ(Name(FileType::kRegular, 0755), "\033[01;32mx\033[0m");
  EXPECT_EQ(Name(FileType::kRegular, 04755), "\033[37;41mx\033[0m");
  EXPECT_EQ(Name(FileType::kDirectory, 0755), "\033[01;34mx\033[0m");
  EXPECT_EQ(Name(FileType::kDirectory, 01777), "\033[30;42mx\033[0m");
  EXPECT_EQ(Name(FileType::kSymlink, 0777), "\033[01;36mx\033[0m");
}

}  // namespace
}  // namespace nfswalk::cli
