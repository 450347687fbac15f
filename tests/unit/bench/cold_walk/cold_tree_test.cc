#include "bench/cold_walk/cold_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace nfswalk::bench {
namespace {

TEST(ColdTreeTest, AHundredThousandFilesLieAtDepthSixInAThousandDirectories) {
  constexpr uint64_t kFiles = 100'000;
  const ColdTree tree(kFiles);
  std::map<std::string, uint64_t> files_in;
  std::set<std::string> distinct;
  for (const std::string& path : tree.paths()) {
    ASSERT_EQ(std::ranges::count(path, '/'), static_cast<int>(ColdTree::kDepth) - 1) << path;
    ++files_in[path.substr(0, path.rfind('/'))];
    distinct.insert(path);
  }
  EXPECT_EQ(distinct.size(), kFiles);
  EXPECT_EQ(files_in.size(), 1000u);
  for (const auto& [directory, files] : files_in) {
    EXPECT_EQ(files, ColdTree::kFilesPerDirectory) << directory;
  }
}

TEST(ColdTreeTest, TheOrderIsRandomAndAlwaysTheSame) {
  const ColdTree tree(1000), again(1000);
  EXPECT_EQ(tree.paths(), again.paths());
  EXPECT_FALSE(std::ranges::is_sorted(tree.paths()));
  EXPECT_NE(tree.paths()[0].substr(0, tree.paths()[0].rfind('/')),
            tree.paths()[1].substr(0, tree.paths()[1].rfind('/')));
}

TEST(ColdTreeTest, EveryParentIsMadeAndTheDeepFileIsAtItsDepth) {
  const ColdTree cold(250);
  const Tree tree = cold.Build();
  uint64_t files = 0;
  for (const std::string& path : tree.SortedPaths()) {
    ASSERT_NE(tree.Find(ParentOf(path)), nullptr) << path;
    EXPECT_EQ(tree.Find(ParentOf(path))->type, static_cast<uint32_t>(S_IFDIR)) << path;
    files += tree.Find(path)->type == S_IFREG;
  }
  EXPECT_EQ(files, 250u + 1);
  const std::string deep = std::string("/") + ColdTree::kDeepFile;
  ASSERT_NE(tree.Find(deep), nullptr);
  EXPECT_EQ(std::ranges::count(deep, '/'), static_cast<int>(ColdTree::kDeepDepth));
}

}  // namespace
}  // namespace nfswalk::bench
