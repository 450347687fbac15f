#include "nfsclient/cli/commands/find_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

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

bool HasSize(const char* test, uint64_t size_bytes) {
  const auto parsed = ParseSizeTest(test);
  EXPECT_TRUE(parsed.has_value()) << test;
  return parsed && parsed->Matches(size_bytes);
}

TEST(FindFilter, NamesArePatternsForTheLastComponentAndPathsMatchWhole) {
  for (const auto& [filter, path, matches] : {
           std::tuple{FindFilter{}, "a/.b", true},
           {FindFilter{.name = "*.h"}, "usr/include/stdio.h", true},
           {FindFilter{.name = "*.h"}, "usr/.h", true},
           {FindFilter{.name = "*.h"}, "usr.h/stdio", false},
           {FindFilter{.name = "[a-c]?"}, "x/b1", true},
           {FindFilter{.name = "[a-c]?"}, "x/d1", false},
           {FindFilter{.name = "usr/*"}, "usr/x", false},
           {FindFilter{.name = ""}, "usr/x", false},
           // Trailing slashes of a starting point are ignored.
           {FindFilter{.name = "lib"}, "usr/lib//", true},
           {FindFilter{.name = "/"}, "/", true},
           {FindFilter{.name = "readme*"}, "d/README.md", false},
           {FindFilter{.iname = "readme*"}, "d/README.md", true},
           {FindFilter{.iname = "readme"}, "d/README.md", false},
           {FindFilter{.path = "*/sub/*.h"}, "d/sub/x.h", true},
           {FindFilter{.path = "*/sub/*.h"}, "d/sub/e/x.h", true},
           {FindFilter{.path = "*/sub/*.h"}, "sub/x.h", false},
       }) {
    EXPECT_EQ(filter.Matches(path, Of(FileType::kRegular)), matches)
        << path << " " << filter.name.value_or("") << filter.path.value_or("");
  }
}

TEST(FindFilter, EachTypeHasItsLetter) {
  const std::pair<const char*, FileType> letters[] = {
      {"f", FileType::kRegular},     {"d", FileType::kDirectory},       {"l", FileType::kSymlink},
      {"b", FileType::kBlockDevice}, {"c", FileType::kCharacterDevice}, {"p", FileType::kFifo},
      {"s", FileType::kSocket}};
  for (const auto& [letter, type] : letters) {
    for (const auto& [other_letter, other] : letters) {
      EXPECT_EQ(FindFilter{.types = *ParseTypes(letter)}.Matches("x", Of(other)), type == other);
    }
  }
  const FindFilter two{.types = *ParseTypes("f,l")};
  EXPECT_TRUE(two.Matches("x", Of(FileType::kSymlink)));
  EXPECT_FALSE(two.Matches("x", Of(FileType::kDirectory)));
}

TEST(FindFilter, UnknownTypeIsNamed) {
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

TEST(FindFilter, InvalidSizeIsNamed) {
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
