#include "bench/cold_walk/cold_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace nfswalk::bench {
namespace {

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

TEST(ColdTree, HundredThousandFilesLieAtDepthSixInThousandDirectories) {
  constexpr uint64_t kFiles = 100'000;
  const ColdTree tree(kFiles);
  std::map<std::string, uint64_t> files_in;
  std::set<std::string> distinct;
  for (const std::string& path : tree.paths()) {
    ASSERT_EQ(std::ranges::count(path, '/'), static_cast<int>(ColdTree::kDepth)) << path;
    ++files_in[DirectoryOf(path)];
    distinct.insert(path);
  }
  EXPECT_EQ(distinct.size(), kFiles);
  EXPECT_EQ(files_in.size(), 1000u);
  for (const auto& [directory, files] : files_in) {
    EXPECT_EQ(files, ColdTree::kFilesPerDirectory) << directory;
  }
}

TEST(ColdTree, OrderIsRandomAndAlwaysTheSame) {
  const ColdTree tree(1000), again(1000);
  EXPECT_EQ(tree.paths(), again.paths());
  EXPECT_FALSE(std::ranges::is_sorted(tree.paths()));
  EXPECT_NE(DirectoryOf(tree.paths()[0]), DirectoryOf(tree.paths()[1]));
}

TEST(ColdTree, EveryFileAndParentIsBuiltAndTheDeepFileIsAtItsDepth) {
  const FileTree tree = ColdTree(250).Build();
  uint64_t files = 0;
  for (const auto& [path, node] : tree) {
    if (!path.empty()) {
      ASSERT_TRUE(tree.contains(DirectoryOf(path))) << path;
      EXPECT_EQ(tree.at(DirectoryOf(path)).type, uint32_t{S_IFDIR}) << path;
    }
    files += node.type == S_IFREG;
  }
  EXPECT_EQ(files, 250u + 1);
  const std::string deep = ColdTree::kDeepFile;
  EXPECT_TRUE(tree.contains(deep));
  EXPECT_EQ(std::ranges::count(deep, '/'), static_cast<int>(ColdTree::kDeepDepth));
}

}  // namespace
}  // namespace nfswalk::bench
