#include "nfsclient/cli/find_spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nfswalk::cli {
namespace {

using testing::ElementsAre;

std::vector<std::string> Spelled(std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);
  AcceptFindSpelling(arguments);
  std::ranges::reverse(arguments);
  return arguments;
}

TEST(FindSpelling, OptionsOfFindGetTheirSecondDash) {
  EXPECT_THAT(Spelled({"find", "URL", "d", "-name", "*.h", "-size", "-10k", "-print0"}),
              ElementsAre("find", "URL", "d", "--name", "*.h", "--size", "-10k", "--print0"));
  EXPECT_THAT(Spelled({"find", "--name", "x", "-maxdepth", "1"}),
              ElementsAre("find", "--name", "x", "--maxdepth", "1"));
}

TEST(FindSpelling, ValuesStayAsTheyAre) {
  EXPECT_THAT(Spelled({"find", "-name", "-name", "-type", "f"}),
              ElementsAre("find", "--name", "-name", "--type", "f"));
  EXPECT_THAT(Spelled({"find", "--newer", "-type"}), ElementsAre("find", "--newer", "-type"));
}

TEST(FindSpelling, BehindTwoDashesArePaths) {
  EXPECT_THAT(Spelled({"find", "URL", "--", "-name"}), ElementsAre("find", "URL", "--", "-name"));
}

TEST(FindSpelling, OtherCommandsAndOtherOptionsAreLeftAlone) {
  EXPECT_THAT(Spelled({"ls", "-name"}), ElementsAre("ls", "-name"));
  EXPECT_THAT(Spelled({"find", "-h", "-named"}), ElementsAre("find", "-h", "-named"));
  EXPECT_THAT(Spelled({}), ElementsAre());
}

}  // namespace
}  // namespace nfswalk::cli
