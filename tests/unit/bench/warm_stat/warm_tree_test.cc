#include "bench/warm_stat/warm_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace nfswalk::bench {
namespace {

// Returns the path that `path` leads to in `tree`, if any. Only its first name may be a link.
std::optional<std::string> Resolve(const FileTree& tree, const std::string& path) {
  const size_t end = std::min(path.find('/'), path.size());
  const auto first = tree.find("/" + path.substr(0, end));
  if (first == tree.end()) return std::nullopt;
  const bool link = first->second.type == S_IFLNK;
  const std::string real = (link ? "/" + first->second.link_text : first->first) + path.substr(end);
  if (!tree.contains(real)) return std::nullopt;
  return real;
}

// Checks the answers that the benchmark expects against the tree.
TEST(WarmTree, EveryPathOfACourseEndsAsItsCallExpects) {
  const WarmTree tree(2000);
  const FileTree built = tree.Build();
  for (const Course course : tree.Courses()) {
    const auto paths = tree.PathsOf(course);
    ASSERT_FALSE(paths.empty());
    for (const std::string& path : paths) {
      ASSERT_EQ(static_cast<size_t>(std::ranges::count(path, '/')) + 1, course.depth) << path;
      const auto real = Resolve(built, path);
      ASSERT_EQ(real ? 0 : ENOENT, WarmTree::ErrorOf(course)) << path;
      if (!real) continue;
      ASSERT_EQ(built.at(*real).type | built.at(*real).permissions, S_IFREG | 0644u) << path;
    }
  }
}

TEST(WarmTree, DirectoryAboveEachPathExistsAlsoOfNegativeNames) {
  const WarmTree tree(1);
  const FileTree built = tree.Build();
  for (const std::string& path : tree.PathsOf({Pattern::kNegative, 8})) {
    ASSERT_TRUE(built.contains("/" + path.substr(0, path.rfind('/')))) << path;
  }
}

TEST(WarmTree, CourseHasEachOfItsFilesOnce) {
  const WarmTree tree(1000);
  for (const auto& [course, files] : {std::pair{Course{Pattern::kRandom}, 1000u},
                                      {Course{.pattern = Pattern::kInOrder, .files = 10}, 10u},
                                      {Course{Pattern::kDistinct, 16}, 4096u},
                                      {Course{Pattern::kNegative, 8}, 4096u},
                                      {Course{Pattern::kSameFile, 8}, 1u}}) {
    const auto paths = tree.PathsOf(course);
    EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()).size(), files) << course.Name();
    EXPECT_EQ(paths.size(), files) << course.Name();
  }
}

TEST(WarmTree, LinksLeadToDistinctFiles) {
  const WarmTree tree(1);
  const FileTree built = tree.Build();
  const auto paths = tree.PathsOf({Pattern::kLinks, 8});
  std::set<std::string> files;
  for (const std::string& path : paths) {
    EXPECT_EQ(built.at("/" + path.substr(0, path.find('/'))).type, static_cast<uint32_t>(S_IFLNK));
    files.insert(Resolve(built, path).value());
  }
  EXPECT_EQ(files.size(), paths.size());
}

}  // namespace
}  // namespace nfswalk::bench
