#include "bench/warm_stat/warm_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>

namespace nfswalk::bench {
namespace {

// What the benchmark compares answers with is what the tree says.
TEST(WarmTree, EveryPathOfACourseEndsAsItsCallExpects) {
  const WarmTree tree(1000);
  const Tree built = tree.Build();
  for (const Course course : WarmTree::Courses()) {
    const CourseCalls calls = tree.CallsOf(course);
    ASSERT_FALSE(calls.calls().empty());
    for (const ReplayCall& call : calls.calls()) {
      ASSERT_EQ(static_cast<size_t>(std::ranges::count(call.path, '/')) + 1, course.depth)
          << call.path;
      ASSERT_EQ(call.path.data()[call.path.size()], '\0');
      const WalkResult found =
          built.Walk("/" + std::string(call.path), false, AtMissing::kFail, {});
      ASSERT_EQ(found.error, call.error) << call.path;
    }
  }
}

TEST(WarmTree, ACourseAsksForEachOfItsFilesOnce) {
  const WarmTree tree(1000);
  for (const auto& [course, files] : {std::pair{Course{Pattern::kRandom, 4}, 1000u},
                                      {Course{Pattern::kDistinct, 16}, 4096u},
                                      {Course{Pattern::kNegative, 8}, 4096u},
                                      {Course{Pattern::kSameFile, 8}, 1u}}) {
    const CourseCalls calls = tree.CallsOf(course);
    std::set<std::string_view> paths;
    for (const ReplayCall& call : calls.calls()) paths.insert(call.path);
    EXPECT_EQ(paths.size(), files) << NameOf(course.pattern);
    EXPECT_EQ(calls.calls().size(), files) << NameOf(course.pattern);
  }
}

TEST(WarmTree, LinksLeadToTheFilesOfATree) {
  const WarmTree tree(1);
  const Tree built = tree.Build();
  const CourseCalls calls = tree.CallsOf({Pattern::kLinks, 8});
  std::set<std::string> files;
  for (const ReplayCall& call : calls.calls()) {
    files.insert(built.Walk("/" + std::string(call.path), false, AtMissing::kFail, {}).canonical);
  }
  EXPECT_EQ(files.size(), calls.calls().size());
}

}  // namespace
}  // namespace nfswalk::bench
