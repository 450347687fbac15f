#include "bench/memory/synthetic_tree.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace nfswalk::bench {
namespace {

using Kind = SyntheticTree::Kind;
using Node = SyntheticTree::Node;

TEST(SyntheticTreeTest, EveryEntryIsFoundByItsNameAndByNoOther) {
  const SyntheticTree tree(100'101, true);
  std::set<uint64_t> ids = {SyntheticTree::IdOf({Kind::kRoot, 0})};
  uint64_t files = 0;
  std::vector<Node> directories = {{Kind::kRoot, 0}};
  while (!directories.empty()) {
    const Node directory = directories.back();
    directories.pop_back();
    const SyntheticTree::Entries entries = tree.EntriesOf(directory);
    ASSERT_LT(entries.begin, entries.end);
    for (uint64_t number = entries.begin; number < entries.end; ++number) {
      const Node node{entries.kind, number};
      ASSERT_EQ(tree.Find(directory, tree.NameOf(node)), node);
      ASSERT_TRUE(ids.insert(SyntheticTree::IdOf(node)).second) << tree.NameOf(node);
      ASSERT_EQ(SyntheticTree::NodeOf(SyntheticTree::IdOf(node)), node);
      if (node.kind != Kind::kFile) directories.push_back(node);
      files += node.kind == Kind::kFile;
    }
    EXPECT_FALSE(tree.Find(directory, tree.NameOf({entries.kind, entries.end})));
    EXPECT_FALSE(tree.Find(directory, "x" + tree.NameOf({entries.kind, entries.begin})));
    EXPECT_FALSE(tree.Find(directory, ""));
  }
  EXPECT_EQ(files, tree.files());
  EXPECT_EQ(ids.size(), tree.files() + tree.directories() + tree.parts() + 1);
}

TEST(SyntheticTreeTest, OneNameInSixteenIsLongAndTheOthersShort) {
  const SyntheticTree shorter(1000, false), longer(1000, true);
  int longs = 0;
  for (uint64_t file = 0; file < 1000; ++file) {
    const std::string name = shorter.NameOf({Kind::kFile, file});
    EXPECT_GE(name.size(), 10u);
    EXPECT_LE(name.size(), 14u);
    const std::string other = longer.NameOf({Kind::kFile, file});
    if (other == name) continue;
    EXPECT_EQ(other.size(), SyntheticTree::kLongNameBytes);
    ++longs;
  }
  EXPECT_EQ(longs, 63) << "one in 16, the first among them";
}

TEST(SyntheticTreeTest, APathIsTheSameInEveryTreeThatHasTheFile) {
  EXPECT_EQ(SyntheticTree(1000, true).PathOfFile(999),
            SyntheticTree(10'000'000, true).PathOfFile(999));
  EXPECT_EQ(SyntheticTree(300'000, false).PathOfFile(234'567), "part2/module2345/io00234567.c");
}

}  // namespace
}  // namespace nfswalk::bench
