#include "nfsclient/cli/find_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace nfswalk::cli {
namespace {

using protocol::FileType;
using testing::AllOf;
using testing::HasSubstr;

Attributes Of(FileType type) {
  Attributes attributes;
  attributes.type = type;
  return attributes;
}

bool IsNamed(const char* pattern, const std::string& path) {
  return FindFilter{.name = pattern}.Matches(path, Of(FileType::kRegular));
}

bool HasType(const char* types, FileType type) {
  FindFilter filter;
  filter.types = *ParseTypes(types);
  return filter.Matches("x", Of(type));
}

bool HasSize(const char* test, uint64_t size_bytes) {
  const auto parsed = ParseSizeTest(test);
  EXPECT_TRUE(parsed.has_value()) << test;
  return parsed && parsed->Matches(size_bytes);
}

TEST(FindFilter, WithoutConditionsMatchesAll) {
  EXPECT_TRUE(FindFilter{}.Matches("a/.b", Of(FileType::kSocket)));
}

TEST(FindFilter, ANameIsAPatternForTheLastComponent) {
  EXPECT_TRUE(IsNamed("*.h", "usr/include/stdio.h"));
  EXPECT_TRUE(IsNamed("*.h", "usr/.h"));
  EXPECT_FALSE(IsNamed("*.h", "usr.h/stdio"));
  EXPECT_TRUE(IsNamed("[a-c]?", "x/b1"));
  EXPECT_FALSE(IsNamed("[a-c]?", "x/d1"));
  EXPECT_FALSE(IsNamed("usr/*", "usr/x"));
  EXPECT_FALSE(IsNamed("", "usr/x"));
}

TEST(FindFilter, ANameIgnoresTrailingSlashesOfAStartingPoint) {
  EXPECT_TRUE(IsNamed("lib", "usr/lib//"));
  EXPECT_TRUE(IsNamed("/", "/"));
}

TEST(FindFilter, CaseCountsUnlessOneSaysOtherwise) {
  EXPECT_FALSE(IsNamed("readme*", "d/README.md"));
  EXPECT_TRUE(FindFilter{.iname = "readme*"}.Matches("d/README.md", Of(FileType::kRegular)));
  EXPECT_FALSE(FindFilter{.iname = "readme"}.Matches("d/README.md", Of(FileType::kRegular)));
}

TEST(FindFilter, APathIsMatchedWhole) {
  const FindFilter filter{.path = "*/sub/*.h"};
  EXPECT_TRUE(filter.Matches("d/sub/x.h", Of(FileType::kRegular)));
  EXPECT_TRUE(filter.Matches("d/sub/e/x.h", Of(FileType::kRegular)));
  EXPECT_FALSE(filter.Matches("sub/x.h", Of(FileType::kRegular)));
}

TEST(FindFilter, EachTypeHasItsLetter) {
  EXPECT_TRUE(HasType("f", FileType::kRegular));
  EXPECT_TRUE(HasType("d", FileType::kDirectory));
  EXPECT_TRUE(HasType("l", FileType::kSymlink));
  EXPECT_TRUE(HasType("b", FileType::kBlockDevice));
  EXPECT_TRUE(HasType("c", FileType::kCharacterDevice));
  EXPECT_TRUE(HasType("p", FileType::kFifo));
  EXPECT_TRUE(HasType("s", FileType::kSocket));
  EXPECT_FALSE(HasType("f", FileType::kSymlink));
  EXPECT_TRUE(HasType("f,l", FileType::kSymlink));
  EXPECT_FALSE(HasType("f,l", FileType::kDirectory));
}

TEST(FindFilter, WhatIsNoTypeIsNamed) {
  for (const char* text : {"", "z", "fl", "f,", ",f", "f,,l", "file"}) {
    EXPECT_THAT(ParseTypes(text).error(),
                AllOf(HasSubstr("'" + std::string(text) + "'"), HasSubstr("f (file)")));
  }
}

TEST(FindFilter, SizesAreRoundedUpToTheirUnit) {
  EXPECT_TRUE(HasSize("1", 512));
  EXPECT_TRUE(HasSize("2", 513));
  EXPECT_TRUE(HasSize("2b", 513));
  EXPECT_TRUE(HasSize("0", 0));
  EXPECT_TRUE(HasSize("513c", 513));
  EXPECT_TRUE(HasSize("257w", 513));
  EXPECT_TRUE(HasSize("1k", 1));
  EXPECT_TRUE(HasSize("1M", 1 << 20));
  EXPECT_FALSE(HasSize("1M", (1 << 20) + 1));
  EXPECT_TRUE(HasSize("1G", 1 << 30));
}

TEST(FindFilter, MoreAndLessAreOfWholeUnits) {
  EXPECT_FALSE(HasSize("+1k", 1024));
  EXPECT_TRUE(HasSize("+1k", 1025));
  EXPECT_TRUE(HasSize("-1M", 0));
  EXPECT_FALSE(HasSize("-1M", 1));
  EXPECT_TRUE(HasSize("-18446744073709551615c", 7));
}

TEST(FindFilter, WhatIsNoSizeIsNamed) {
  for (const char* text :
       {"", "+", "k", "1K", "1kk", "--1", "+-1", "1.5k", "1 ", "18446744073709551616"}) {
    const auto parsed = ParseSizeTest(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_THAT(parsed.error(), AllOf(HasSubstr("'" + std::string(text) + "'"), HasSubstr("+10M")));
  }
}

TEST(FindFilter, NewerIsNotAsNew) {
  const FindFilter filter{.newer = protocol::Time{100, 5}};
  Attributes attributes;
  attributes.mtime = {100, 5};
  EXPECT_FALSE(filter.Matches("x", attributes));
  attributes.mtime = {100, 6};
  EXPECT_TRUE(filter.Matches("x", attributes));
  attributes.mtime = {99, 999'999'999};
  EXPECT_FALSE(filter.Matches("x", attributes));
}

TEST(FindFilter, AllConditionsMustHold) {
  FindFilter both{.name = "x"};
  both.types = "d";
  EXPECT_TRUE(both.Matches("a/x", Of(FileType::kDirectory)));
  EXPECT_FALSE(both.Matches("a/x", Of(FileType::kRegular)));
  EXPECT_FALSE(both.Matches("a/y", Of(FileType::kDirectory)));
}

}  // namespace
}  // namespace nfswalk::cli
