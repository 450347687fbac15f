#include "bench/cold_walk/walk.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

// What the calls of all threads met.
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
  const FileTree files_ = tree_.Build();
  Met met_;
};

TEST_F(WalkTest, WalkByPathLooksAtEveryFileOnce) {
  for (const size_t threads : {1, 4}) {
    met_.paths.clear();
    const auto turn = Take(WalkKind::kPath, threads);
    ASSERT_TRUE(turn) << turn.error();
    EXPECT_EQ(turn->ops, 250u);
    EXPECT_EQ(met_.paths, (std::multiset<std::string>(tree_.paths().begin(), tree_.paths().end())));
  }
}

TEST_F(WalkTest, OneInSoManyFilesIsTheSameShareForAnyNumberOfThreads) {
  std::multiset<std::string> every_seventh;
  for (size_t i = 0; i < tree_.paths().size(); i += 7) every_seventh.insert(tree_.paths()[i]);
  for (const size_t threads : {1, 4}) {
    met_.paths.clear();
    const auto turn = Take(WalkKind::kPath, threads, 7);
    ASSERT_TRUE(turn) << turn.error();
    EXPECT_EQ(turn->ops, FilesOf(WalkKind::kPath, tree_, 7));
    EXPECT_EQ(met_.paths, every_seventh);
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

TEST_F(WalkTest, CallThatFailsEndsTheWalkWithItsError) {
  met_.refused = tree_.paths()[100];
  EXPECT_EQ(Take(WalkKind::kPath, 4).error(), "refused " + met_.refused);
  met_.refused = "/wide/part0";
  EXPECT_EQ(Take(WalkKind::kFind, 4).error(), "refused /wide/part0");
}

TEST_F(WalkTest, FileThatIsNotFoundIsMissed) {
  met_.hidden = tree_.paths()[100];
  EXPECT_EQ(Take(WalkKind::kFind, 2).error(), "250 of 251 files were found");
}

}  // namespace
}  // namespace nfswalk::bench
