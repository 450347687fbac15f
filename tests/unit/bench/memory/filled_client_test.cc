#include "bench/memory/filled_client.h"

#include <gtest/gtest.h>

#include <system_error>

namespace nfswalk::bench {
namespace {

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

}  // namespace
}  // namespace nfswalk::bench
