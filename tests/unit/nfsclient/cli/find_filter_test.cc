#include "nfsclient/cli/find_filter.h"

#include <gtest/gtest.h>

namespace nfswalk::cli {
namespace {

using protocol::FileType;

TEST(FindFilter, WithoutConditionsMatchesAll) {
  EXPECT_TRUE(FindFilter{}.Matches("a/.b", FileType::kSocket));
}

TEST(FindFilter, ANameIsAPatternForTheLastComponent) {
  const FindFilter headers{.name = "*.h"};
  EXPECT_TRUE(headers.Matches("usr/include/stdio.h", FileType::kRegular));
  EXPECT_TRUE(headers.Matches("usr/.h", FileType::kRegular));
  EXPECT_FALSE(headers.Matches("usr.h/stdio", FileType::kRegular));
  EXPECT_TRUE(FindFilter{.name = "[a-c]?"}.Matches("x/b1", FileType::kRegular));
  EXPECT_FALSE(FindFilter{.name = "[a-c]?"}.Matches("x/d1", FileType::kRegular));
  EXPECT_FALSE(FindFilter{.name = "usr/*"}.Matches("usr/x", FileType::kRegular));
}

TEST(FindFilter, ANameIgnoresTrailingSlashesOfAStartingPoint) {
  EXPECT_TRUE(FindFilter{.name = "lib"}.Matches("usr/lib//", FileType::kDirectory));
  EXPECT_TRUE(FindFilter{.name = "/"}.Matches("/", FileType::kDirectory));
}

TEST(FindFilter, EachTypeHasItsLetter) {
  EXPECT_TRUE(FindFilter{.type = 'f'}.Matches("x", FileType::kRegular));
  EXPECT_TRUE(FindFilter{.type = 'd'}.Matches("x", FileType::kDirectory));
  EXPECT_TRUE(FindFilter{.type = 'l'}.Matches("x", FileType::kSymlink));
  EXPECT_TRUE(FindFilter{.type = 'b'}.Matches("x", FileType::kBlockDevice));
  EXPECT_TRUE(FindFilter{.type = 'c'}.Matches("x", FileType::kCharacterDevice));
  EXPECT_TRUE(FindFilter{.type = 'p'}.Matches("x", FileType::kFifo));
  EXPECT_TRUE(FindFilter{.type = 's'}.Matches("x", FileType::kSocket));
  EXPECT_FALSE(FindFilter{.type = 'f'}.Matches("x", FileType::kSymlink));
}

TEST(FindFilter, NameAndTypeMustBothMatch) {
  const FindFilter both{.name = "x", .type = 'd'};
  EXPECT_TRUE(both.Matches("a/x", FileType::kDirectory));
  EXPECT_FALSE(both.Matches("a/x", FileType::kRegular));
  EXPECT_FALSE(both.Matches("a/y", FileType::kDirectory));
}

}  // namespace
}  // namespace nfswalk::cli
