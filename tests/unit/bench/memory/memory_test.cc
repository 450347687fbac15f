#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "bench/memory/cache_sizes.h"
#include "bench/memory/filled_client.h"
#include "bench/memory/synthetic_tree.h"

namespace nfswalk::bench {
namespace {

using Kind = SyntheticTree::Kind;
using Node = SyntheticTree::Node;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(FilledClientTest, WholeTreeIsAnsweredWithoutAnRpc) {
  const SyntheticTree tree(2345, true);
  auto client = MountSynthetic(tree);
  ASSERT_TRUE(client) << client.error();
  const Outcome filling = Fill(**client, tree);
  ASSERT_TRUE(filling) << filling.error();
  const Stats filled = (*client)->stats();
  EXPECT_GE(filled.access_entries, tree.files());
  for (uint64_t file = 0; file < tree.files(); ++file) {
    const auto found = (*client)->Stat(tree.PathOfFile(file), kMemoryCredential);
    ASSERT_TRUE(found) << tree.PathOfFile(file);
    EXPECT_EQ(found->fileid, SyntheticTree::IdOf({SyntheticTree::Kind::kFile, file}));
    EXPECT_EQ((*client)->Access(tree.PathOfFile(file), kMayRead, kMemoryCredential), std::errc{});
  }
  const Stats asked = (*client)->stats();
  EXPECT_EQ(asked.rpcs, filled.rpcs);
  EXPECT_EQ(asked.ref_walks, filled.ref_walks);
}

TEST(FilledClientTest, NameOutsideTheTreeIsENOENTAndTheTreeIsReadOnly) {
  const SyntheticTree tree(200, false);
  auto client = MountSynthetic(tree);
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ((*client)->Stat(tree.PathOfFile(200), kMemoryCredential).error(),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ((*client)->Unlink(tree.PathOfFile(0), kMemoryCredential),
            std::errc::read_only_file_system);
}

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

TEST(CacheSizesTest, CachesGrowByTensUpToTheLargest) {
  EXPECT_THAT(CacheSizes(1000), ElementsAre(1000));
  EXPECT_THAT(CacheSizes(20'000), ElementsAre(1000, 10'000, 20'000));
  EXPECT_THAT(CacheSizes(10'000'000), ElementsAre(1000, 10'000, 100'000, 1'000'000, 10'000'000));
  EXPECT_THAT(GrowthSizes(20'000), ElementsAre(20'000));
  EXPECT_THAT(GrowthSizes(10'000'000), ElementsAre(100'000, 1'000'000));
}

TEST(CacheSizesTest, CachesThatDoNotFitAreRefusedWithALargestOneThatDoes) {
  constexpr std::array<uint64_t, 2> kSizes = {1'000'000, 10'000'000};
  EXPECT_TRUE(CheckMemoryFor(kSizes, 12 * kGibibyte));
  const Outcome refused = CheckMemoryFor(kSizes, 4 * kGibibyte);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("10000000"));
  EXPECT_THAT(refused.error(), HasSubstr("8.2 GiB"));
  const size_t advice = refused.error().find("--files-max ");
  ASSERT_NE(advice, std::string::npos);
  const std::array<uint64_t, 2> advised = {1'000'000,
                                           std::stoull(refused.error().substr(advice + 12))};
  EXPECT_TRUE(CheckMemoryFor(advised, 4 * kGibibyte));
}

}  // namespace
}  // namespace nfswalk::bench
