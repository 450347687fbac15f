#include "nfsclient/cli/find_filter.h"

#include <gtest/gtest.h>

namespace nfswalk::cli {
namespace {

using protocol::FileType;

FindFilter OfType(char letter) {
  FindFilter filter;
  filter.type = letter;
  return filter;
}

FindFilter Named(const char* pattern) {
  FindFilter filter;
  filter.name = pattern;
  return filter;
}

TEST(FindFilter, WithoutConditionsMatchesAll) {
  EXPECT_TRUE(FindFilter{}.Matches("a/.b", FileType::kSocket));
}

TEST(FindFilter, ANameIsAPatternForTheLastComponent) {
  const FindFilter headers{.name = "*.h"};
  EXPECT_TRUE(headers.Matches("usr/include/stdio.h", FileType::kRegular));
  EXPECT_TRUE(headers.Matches("usr/.h", FileType::kRegular));
  EXPECT_FALSE(headers.Matches("usr.h/stdio", FileType::kRegular));
  EXPECT_TRUE(Named("[a-c]?").Matches("x/b1", FileType::kRegular));
  EXPECT_FALSE(Named("[a-c]?").Matches("x/d1", FileType::kRegular));
  EXPECT_FALSE(Named("usr/*").Matches("usr/x", FileType::kRegular));
}

TEST(FindFilter, ANameIgnoresTrailingSlashesOfAStartingPoint) {
  EXPECT_TRUE(Named("lib").Matches("usr/lib//", FileType::kDirectory));
  EXPECT_TRUE(Named("/").Matches("/", FileType::kDirectory));
}

TEST(FindFilter, EachTypeHasItsLetter) {
  EXPECT_TRUE(OfType('f').Matches("x", FileType::kRegular));
  EXPECT_TRUE(OfType('d').Matches("x", FileType::kDirectory));
  EXPECT_TRUE(OfType('l').Matches("x", FileType::kSymlink));
  EXPECT_TRUE(OfType('b').Matches("x", FileType::kBlockDevice));
  EXPECT_TRUE(OfType('c').Matches("x", FileType::kCharacterDevice));
  EXPECT_TRUE(OfType('p').Matches("x", FileType::kFifo));
  EXPECT_TRUE(OfType('s').Matches("x", FileType::kSocket));
  EXPECT_FALSE(OfType('f').Matches("x", FileType::kSymlink));
}

TEST(FindFilter, NameAndTypeMustBothMatch) {
  FindFilter both = OfType('d');
  both.name = "x";
  EXPECT_TRUE(both.Matches("a/x", FileType::kDirectory));
  EXPECT_FALSE(both.Matches("a/x", FileType::kRegular));
  EXPECT_FALSE(both.Matches("a/y", FileType::kDirectory));
}

}  // namespace
}  // namespace nfswalk::cli
