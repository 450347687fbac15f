#include "nfsclient/walk/path_buffer.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace nfswalk::walk {
namespace {

constexpr size_t kLongest = PathBuffer::kPathMax - 1;

TEST(PathBuffer, TakesPathsOfOneByteUpToTheLongest) {
  struct Row {
    std::string path;
    std::errc error;
  };
  const Row rows[] = {{"", std::errc::no_such_file_or_directory},
                      {"a", {}},
                      {"/", {}},
                      {std::string(kLongest, 'x'), {}},
                      {std::string(kLongest + 1, 'x'), std::errc::filename_too_long},
                      {std::string(kLongest + 1, '\0'), std::errc::filename_too_long},
                      {std::string("a\0b", 3), std::errc::invalid_argument},
                      {std::string(1, '\0'), std::errc::invalid_argument}};
  for (const Row& row : rows) {
    PathBuffer buffer;
    EXPECT_EQ(buffer.Assign(row.path), row.error) << row.path.size();
    if (row.error == std::errc{}) {
      EXPECT_EQ(buffer.rest(), row.path);
    }
  }
}

TEST(PathBuffer, ANulIsFoundWhereverItIs) {
  PathBuffer buffer;
  for (size_t length = 1; length < 70; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string path(length, 'x');
      path[at] = '\0';
      EXPECT_EQ(buffer.Assign(path), std::errc::invalid_argument) << at << " of " << length;
    }
  }
}

// WALK-17.
TEST(PathBuffer, ThePrefixEndsBeforeTheLastSlash) {
  PathBuffer buffer;
  for (size_t length = 1; length < 70; ++length) {
    ASSERT_EQ(buffer.Assign(std::string(length, 'x')), std::errc{});
    EXPECT_EQ(buffer.prefix(), "") << length;
    for (size_t at = 0; at < length; ++at) {
      std::string path(length, 'x');
      path[at] = '/';
      ASSERT_EQ(buffer.Assign(path), std::errc{});
      EXPECT_EQ(buffer.rest(), path);
      EXPECT_EQ(buffer.prefix(), path.substr(0, at)) << at << " of " << length;
      path[at / 2] = '/';
      ASSERT_EQ(buffer.Assign(path), std::errc{});
      EXPECT_EQ(buffer.prefix(), path.substr(0, at / 2 + 1 < at ? at : at / 2)) << path;
    }
  }
  for (const auto& [path, prefix] :
       std::initializer_list<std::pair<std::string, std::string>>{{"/", ""},
                                                                  {"//", ""},
                                                                  {"//a", ""},
                                                                  {"a//b", "a"},
                                                                  {"a/b/", "a/b"},
                                                                  {"/a//b//c", "/a//b"}}) {
    ASSERT_EQ(buffer.Assign(path), std::errc{});
    EXPECT_EQ(buffer.prefix(), prefix) << path;
  }
}

// Names are compared by whole words.
TEST(PathBuffer, ZerosFollowThePath) {
  PathBuffer buffer;
  for (const std::string_view path : {"longer than that", "a"}) {
    ASSERT_EQ(buffer.Assign(path), std::errc{});
    const std::string_view padding(buffer.at() + path.size(), vfs::kNamePadding);
    EXPECT_EQ(padding, std::string(vfs::kNamePadding, '\0'));
  }
}

TEST(PathBuffer, SlashesAreSkippedAsFarAsTheyGo) {
  PathBuffer buffer;
  ASSERT_EQ(buffer.Assign("//a/"), std::errc{});
  buffer.SkipSlashes();
  EXPECT_EQ(buffer.rest(), "a/");
  buffer.SkipSlashes();
  EXPECT_EQ(buffer.rest(), "a/");
  buffer.AdvanceTo(buffer.at() + 1);
  EXPECT_FALSE(buffer.AtEnd());
  buffer.SkipSlashes();
  EXPECT_TRUE(buffer.AtEnd());
}

TEST(PathBuffer, ALinksTextStandsInFrontOfTheRest) {
  PathBuffer buffer;
  ASSERT_EQ(buffer.Assign("link/in/it"), std::errc{});
  EXPECT_TRUE(buffer.Splice("../to", buffer.at() + 4, false));
  EXPECT_EQ(buffer.rest(), "../to/in/it");
  EXPECT_TRUE(buffer.Splice("", buffer.at() + 5, false));
  EXPECT_EQ(buffer.rest(), "/in/it");
}

TEST(PathBuffer, ALongestTextFitsInFrontOfALongestPath) {
  PathBuffer buffer;
  const std::string path(kLongest, 'p'), text(kLongest, 't');
  ASSERT_EQ(buffer.Assign(path), std::errc{});
  EXPECT_TRUE(buffer.Splice(text, buffer.at(), false));
  EXPECT_EQ(buffer.rest(), text + path);
}

TEST(PathBuffer, AllocationFailureLeavesThePathUnchanged) {
  PathBuffer buffer;
  const std::string path(kLongest, 'p'), text(kLongest, 't');
  ASSERT_EQ(buffer.Assign(path), std::errc{});
  ASSERT_TRUE(buffer.Splice(text, buffer.at(), false));
  EXPECT_FALSE(buffer.Splice(text, buffer.at(), false));
  EXPECT_EQ(buffer.rest(), text + path);
  for (int links = 2; links <= 40; ++links) {
    ASSERT_TRUE(buffer.Splice(text, buffer.at(), true));
    ASSERT_EQ(buffer.rest().size(), (links + 1) * kLongest);
  }
  EXPECT_TRUE(buffer.rest().ends_with(text + path));
  // The larger array is reused.
  ASSERT_EQ(buffer.Assign(path), std::errc{});
  EXPECT_EQ(buffer.rest(), path);
  EXPECT_TRUE(buffer.Splice(std::string(8 * kLongest, 't'), buffer.at(), false));
}

}  // namespace
}  // namespace nfswalk::walk
