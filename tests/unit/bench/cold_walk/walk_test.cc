#include "bench/cold_walk/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bench/cold_walk/cold_tree.h"

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
  EXPECT_EQ(files, 250u + 1 + 2 * 250);
  const std::string deep = ColdTree::kDeepFile;
  EXPECT_TRUE(tree.contains(ColdTree::kWalked + deep));
  EXPECT_EQ(std::ranges::count(deep, '/'), static_cast<int>(ColdTree::kDeepDepth));
}

// Returns the part of a tree that is walked.
FileTree Walked(const FileTree& built) {
  FileTree walked = EmptyTree();
  const std::string top = ColdTree::kWalked;
  for (const auto& [path, node] : built) {
    if (path.starts_with(top + "/")) walked[path.substr(top.size())] = node;
  }
  return walked;
}

// State shared by the calls of all threads: the paths they met, one to refuse, one to hide.
struct Met {
  std::mutex mutex;
  std::multiset<std::string> paths = {};
  std::string refused = {};  // a path at which a call fails
  std::string hidden = {};   // a file that listings leave out
};

class TreeCalls final : public WalkCalls {
 public:
  TreeCalls(const FileTree& tree, Met& met) : tree_(tree), met_(met) {}

  Outcome Stat(const std::string& path) override {
    const auto node = tree_.find(path);
    if (node == tree_.end() || node->second.type != S_IFREG) return std::unexpected("no " + path);
    return Meet(path);
  }

  Outcome List(const std::string& directory, const EntryFound& found) override {
    const std::string prefix = directory == "/" ? directory : directory + "/";
    for (auto node = tree_.upper_bound(prefix); node != tree_.end(); ++node) {
      const auto& [path, what] = *node;
      if (!path.starts_with(prefix)) break;
      const std::string name = path.substr(prefix.size());
      if (name.find('/') != std::string::npos || path == met_.hidden) continue;
      found(name, what.type == S_IFDIR);
    }
    return Meet(directory);
  }

 private:
  Outcome Meet(const std::string& path) {
    const std::lock_guard guard(met_.mutex);
    met_.paths.insert(path);
    if (path == met_.refused) return std::unexpected("refused " + path);
    return {};
  }

  const FileTree& tree_;
  Met& met_;
};

class WalkTest : public testing::Test {
 protected:
  std::expected<Turn, std::string> Take(WalkKind kind, size_t threads, uint64_t one_in = 1) {
    std::vector<std::unique_ptr<WalkCalls>> calls;
    while (calls.size() < threads) calls.push_back(std::make_unique<TreeCalls>(files_, met_));
    return Walk(kind, tree_, one_in, calls, 0);
  }

  const ColdTree tree_{250};
  const FileTree files_ = Walked(tree_.Build());
  Met met_;
};

TEST_F(WalkTest, WalkByPathLooksAtTheSameFilesOnceForAnyNumberOfThreads) {
  for (const uint64_t one_in : {1, 7}) {
    std::multiset<std::string> wanted;
    for (size_t i = 0; i < tree_.paths().size(); i += one_in) wanted.insert(tree_.paths()[i]);
    EXPECT_EQ(FilesOf(WalkKind::kPath, tree_, one_in), wanted.size());
    for (const size_t threads : {1, 4}) {
      met_.paths.clear();
      const auto turn = Take(WalkKind::kPath, threads, one_in);
      ASSERT_TRUE(turn) << turn.error();
      EXPECT_EQ(turn->ops, wanted.size());
      EXPECT_EQ(met_.paths, wanted);
    }
  }
}

TEST_F(WalkTest, FindListsEveryDirectoryOnceAndCountsTheFiles) {
  std::multiset<std::string> directories;
  for (const auto& [path, node] : files_) {
    if (node.type == S_IFDIR) directories.insert(path.empty() ? "/" : path);
  }
  for (const size_t threads : {1, 4}) {
    met_.paths.clear();
    const auto turn = Take(WalkKind::kFind, threads);
    ASSERT_TRUE(turn) << turn.error();
    EXPECT_EQ(turn->ops, 250u + 1);
    EXPECT_EQ(met_.paths, directories);
  }
}

TEST_F(WalkTest, DeepWalkIsOneFile) {
  const auto turn = Take(WalkKind::kDeep, 1);
  ASSERT_TRUE(turn) << turn.error();
  EXPECT_EQ(turn->ops, 1u);
  EXPECT_EQ(met_.paths, std::multiset<std::string>{ColdTree::kDeepFile});
}

TEST_F(WalkTest, CallThatFailsOrFileThatIsNotFoundEndsTheWalkWithItsError) {
  met_.refused = met_.hidden = tree_.paths()[100];
  EXPECT_EQ(Take(WalkKind::kPath, 4).error(), "refused " + met_.refused);
  EXPECT_EQ(Take(WalkKind::kFind, 2).error(), "250 of 251 files were found");
  met_.refused = "/wide/part0";
  EXPECT_EQ(Take(WalkKind::kFind, 4).error(), "refused /wide/part0");
}

}  // namespace
}  // namespace nfswalk::bench
