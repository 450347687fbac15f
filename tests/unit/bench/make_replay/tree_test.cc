#include "bench/make_replay/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace nfswalk::bench {
namespace {

class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    tree_.Node("/usr").type = S_IFDIR;
    tree_.Node("/usr/lib").type = S_IFDIR;
    tree_.Node("/usr/lib/c").type = S_IFREG;
    Link("/lib", "usr/lib");
    Link("/usr/up", "../lib/c");
    Link("/usr/abs", "/usr/lib/c");
    Link("/loop", "loop");
    Link("/dangling", "nowhere");
  }

  void Link(std::string_view path, const char* text) {
    tree_.Node(path).type = S_IFLNK;
    tree_.Node(path).link_text = text;
  }
  WalkResult Walk(std::string_view path, bool no_follow = false) {
    return tree_.Walk(path, no_follow, AtMissing::kFail, nullptr);
  }

  Tree tree_;
};

TEST_F(TreeTest, LinksOnTheWayAndAtTheEndAreFollowed) {
  EXPECT_EQ(Walk("/lib/c").canonical, "/usr/lib/c");
  EXPECT_EQ(Walk("/usr/up").canonical, "/usr/lib/c");
  EXPECT_EQ(Walk("/usr/abs").canonical, "/usr/lib/c");
}

TEST_F(TreeTest, ALastLinkStaysWhereItIsNotFollowedUnlessASlashFollowsIt) {
  EXPECT_EQ(Walk("/lib", true).canonical, "/lib");
  EXPECT_EQ(Walk("/lib/", true).canonical, "/usr/lib");
}

TEST_F(TreeTest, DotsAreResolvedBehindLinksAndTheRootIsItsOwnParent) {
  EXPECT_EQ(Walk("/lib/../lib/./c").canonical, "/usr/lib/c");
  EXPECT_EQ(Walk("/../..").canonical, "");
  EXPECT_EQ(Walk("//usr///lib").canonical, "/usr/lib");
}

TEST_F(TreeTest, ErrorsAreThoseOfTheKernel) {
  EXPECT_EQ(Walk("").error, ENOENT);
  EXPECT_EQ(Walk("/nope").error, ENOENT);
  EXPECT_EQ(Walk("/nope/..").error, ENOENT);
  EXPECT_EQ(Walk("/dangling").error, ENOENT);
  EXPECT_EQ(Walk("/usr/lib/c/x").error, ENOTDIR);
  EXPECT_EQ(Walk("/usr/lib/c/").error, ENOTDIR);
  EXPECT_EQ(Walk("/usr/lib/c/..").error, ENOTDIR);
  EXPECT_EQ(Walk("/loop").error, ELOOP);
  EXPECT_EQ(Walk("/loop", true).error, 0);
}

TEST_F(TreeTest, LengthsAreLimitedAsInTheKernel) {
  EXPECT_EQ(Walk("/" + std::string(255, 'x')).error, ENOENT);
  EXPECT_EQ(Walk("/" + std::string(256, 'x')).error, ENAMETOOLONG);
  EXPECT_EQ(Walk(std::string(4095, '/')).error, 0);
  EXPECT_EQ(Walk(std::string(4096, '/')).error, ENAMETOOLONG);
}

TEST_F(TreeTest, FortyLinksAreFollowedAndTheFortyFirstIsNot) {
  tree_.Node("/end").type = S_IFREG;
  Link("/1", "end");
  for (int i = 2; i <= 41; ++i) Link("/" + std::to_string(i), std::to_string(i - 1).c_str());
  EXPECT_EQ(Walk("/40").canonical, "/end");
  EXPECT_EQ(Walk("/41").error, ELOOP);
}

TEST_F(TreeTest, EveryNameLookedUpIsVisitedLinksIncluded) {
  std::vector<std::string> visited;
  (void)tree_.Walk("/lib/c", false, AtMissing::kFail,
                   [&](const std::string& canonical) { visited.push_back(canonical); });
  EXPECT_EQ(visited, (std::vector<std::string>{"/lib", "/usr", "/usr/lib", "/usr/lib/c"}));
}

TEST_F(TreeTest, WhatIsMissingCanBeAssumedToBeADirectory) {
  EXPECT_EQ(tree_.Walk("/new/sub/x", false, AtMissing::kAssumeDirectory, nullptr).canonical,
            "/new/sub/x");
}

TEST_F(TreeTest, ParentsAreSortedBeforeTheirChildren) {
  const std::vector<std::string> paths = tree_.SortedPaths();
  EXPECT_LT(std::ranges::find(paths, "/usr"), std::ranges::find(paths, "/usr/lib"));
  EXPECT_LT(std::ranges::find(paths, "/usr/lib"), std::ranges::find(paths, "/usr/lib/c"));
  EXPECT_EQ(std::ranges::find(paths, ""), paths.end());
}

}  // namespace
}  // namespace nfswalk::bench
