#include "nfsclient/vfs/dentry_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/nfsclient/vfs/cached_tree.h"

namespace nfswalk::vfs {
namespace {

constexpr auto kDirectory = protocol::FileType::kDirectory;

TEST(DentryCache, FindsWhatWasInsertedAndNothingElse) {
  CachedTree tree;
  tree.Add(tree.root(), "file", 2);
  EXPECT_EQ(tree.FindRcu(tree.root(), "file"), 2u);
  EXPECT_EQ(tree.FindRcu(tree.root(), "fil"), 0u);
  EXPECT_EQ(tree.FindRcu(tree.root(), "file2"), 0u);
  EXPECT_TRUE(tree.Lookup(tree.root(), "file"));
  EXPECT_FALSE(tree.Lookup(tree.root(), "other"));
}

TEST(DentryCache, NamesOfAllLengthsAreKeptWhole) {
  CachedTree tree;
  for (size_t length = 1; length <= kNameMax; ++length) {
    tree.Add(tree.root(), std::string(length, 'a'), length + 10);
  }
  for (size_t length = 1; length <= kNameMax; ++length) {
    std::string name(length, 'a');
    EXPECT_EQ(tree.FindRcu(tree.root(), name), length + 10);
    name.back() = 'b';
    EXPECT_EQ(tree.FindRcu(tree.root(), name), 0u) << length;
  }
}

TEST(DentryCache, OneNameInTwoDirectoriesIsTwoDentries) {
  CachedTree tree;
  DentryRef a = tree.Add(tree.root(), "a", 2, kDirectory);
  DentryRef b = tree.Add(tree.root(), "b", 3, kDirectory);
  tree.Add(a, "same", 4);
  tree.Add(b, "same", 5);
  EXPECT_EQ(tree.FindRcu(a, "same"), 4u);
  EXPECT_EQ(tree.FindRcu(b, "same"), 5u);
}

TEST(DentryCache, InsertingANameTwiceReturnsTheFirstDentry) {
  CachedTree tree;
  DentryRef first = tree.Add(tree.root(), "name", 2);
  DentryRef second = tree.Add(tree.root(), "name", 3);
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(tree.FindRcu(tree.root(), "name"), 2u);
}

TEST(DentryCache, ADroppedDentryIsNotFoundThoughItIsHeld) {
  CachedTree tree;
  DentryRef held = tree.Add(tree.root(), "name", 2);
  tree.dentries().Drop(*held);
  tree.dentries().Drop(*held);
  EXPECT_FALSE(tree.Lookup(tree.root(), "name"));
  // WALK-4: a new dentry of the name is found, never the old one.
  tree.Add(tree.root(), "name", 3);
  EXPECT_EQ(tree.FindRcu(tree.root(), "name"), 3u);
}

// WALK-21.
TEST(DentryCache, AMovedDirectoryKeepsItsChildren) {
  CachedTree tree;
  DentryRef from = tree.Add(tree.root(), "from", 2, kDirectory);
  DentryRef to = tree.Add(tree.root(), "to", 3, kDirectory);
  DentryRef moved = tree.Add(from, "old", 4, kDirectory);
  tree.Add(moved, "child", 5);
  const std::string long_name(200, 'n');
  ASSERT_EQ(tree.Move(moved, to, long_name), std::errc{});
  EXPECT_FALSE(tree.Lookup(from, "old"));
  EXPECT_EQ(tree.FindRcu(to, long_name), 4u);
  EXPECT_EQ(tree.FindRcu(moved, "child"), 5u);
  EXPECT_EQ(tree.dentries().Parent(*moved).get(), to.get());
  ASSERT_EQ(tree.Move(moved, from, "s"), std::errc{});
  EXPECT_EQ(tree.FindRcu(from, "s"), 4u);
}

TEST(DentryCache, AMoveDropsWhatIsInTheWay) {
  CachedTree tree;
  DentryRef source = tree.Add(tree.root(), "source", 2);
  DentryRef target = tree.Add(tree.root(), "target", 3);
  ASSERT_EQ(tree.Move(source, tree.root(), "target"), std::errc{});
  EXPECT_EQ(tree.FindRcu(tree.root(), "target"), 2u);
}

// WALK-21.
TEST(DentryCache, ADirectoryCannotBecomeItsOwnAncestor) {
  CachedTree tree;
  DentryRef a = tree.Add(tree.root(), "a", 2, kDirectory);
  DentryRef b = tree.Add(a, "b", 3, kDirectory);
  EXPECT_EQ(tree.Move(a, b, "a"), std::errc::too_many_symbolic_link_levels);
  EXPECT_EQ(tree.FindRcu(tree.root(), "a"), 2u);
}

TEST(DentryCache, ASampleTakenBeforeAMoveNoLongerHolds) {
  CachedTree tree;
  DentryRef file = tree.Add(tree.root(), "one", 2);
  uint64_t seq = file->seq.Begin();
  ASSERT_EQ(tree.Move(file, tree.root(), "two"), std::errc{});
  EXPECT_TRUE(file->seq.Changed(seq));
  seq = file->seq.Begin();
  tree.dentries().Drop(*file);
  EXPECT_TRUE(file->seq.Changed(seq));
}

// WALK-24.
TEST(DentryCache, UnusedDentriesGoOldestFirstAndUsedOnesGetASecondChance) {
  CachedTree tree;
  for (int i = 0; i < 10; ++i) tree.Add(tree.root(), std::to_string(i), 10 + i);
  tree.Lookup(tree.root(), "0");  // used again
  EXPECT_EQ(tree.dentries().Prune(5), 4u);
  EXPECT_EQ(tree.FindRcu(tree.root(), "0"), 10u);
  EXPECT_EQ(tree.FindRcu(tree.root(), "1"), 0u);
  EXPECT_EQ(tree.FindRcu(tree.root(), "9"), 19u);
}

TEST(DentryCache, ADirectoryOutlivesItsCachedChildren) {
  CachedTree tree;
  {
    DentryRef directory = tree.Add(tree.root(), "d", 2, kDirectory);
    tree.Add(directory, "child", 3);
  }
  EXPECT_EQ(tree.dentries().Prune(1), 1u);  // the child, which is older on the LRU
  EXPECT_TRUE(tree.Lookup(tree.root(), "d"));
}

TEST(DentryCache, TheLimitHolds) {
  constexpr size_t kLimit = 100;
  CachedTree tree(kLimit);
  for (int i = 0; i < 1000; ++i) {
    tree.AddNegative(tree.root(), std::to_string(i));
    ASSERT_LE(tree.dentries().size(), kLimit + 1);
  }
  EXPECT_TRUE(tree.dentries().under_pressure());
}

// Servers export links, too. A link's text and a directory's alias share storage.
TEST(DentryCache, ARootThatIsALinkKeepsItsText) {
  CachedTree tree;
  rcu::KeyedChangeCount changes;
  DentryCache dentries(changes, 10);
  const DentryRef root = dentries.MakeRoot(tree.NewInode(7, protocol::FileType::kSymlink));
  EXPECT_EQ(root.inode()->link_body.load(), nullptr);
}

}  // namespace
}  // namespace nfswalk::vfs
