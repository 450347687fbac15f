// Client::Rename(): its calls, and trailing slashes (WALK-11).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nfsclient/nfs/change.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

// The parameter: whether there is an attribute cache. Without one, a second lookup of a name costs
// a second call.
class RenameTest : public MemoryMount, public testing::WithParamInterface<bool> {
 protected:
  RenameTest() {
    const uint32_t lifetime_s = GetParam() ? 600 : 0;
    options_.acregmin_s = options_.acregmax_s = lifetime_s;
    options_.acdirmin_s = options_.acdirmax_s = lifetime_s;
    options_.rdirplus = false;
    MountTree();
  }

  // A new tree, and nothing cached.
  void MountTree() {
    NewServer();
    d_ = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(kRoot, "e", FileType::kDirectory);
    server_->Add(d_, "directory", FileType::kDirectory);
    server_->Add(d_, "file", FileType::kRegular);
    server_->Add(d_, "link", FileType::kSymlink, "directory");
    Mount();
    (void)protocol_->TakeLog();
  }
  std::errc TryRename(const std::string& from, const std::string& to) {
    return client_->Rename(from, to, me_);
  }
  // The calls since the last TakeCalls(), with their names.
  std::vector<std::string> TakeCalls() {
    std::vector<std::string> calls;
    for (const fixtures::LoggedCall& call : protocol_->TakeLog()) {
      calls.emplace_back(call.procedure);
      for (const std::string& name : call.names) calls.back() += " " + name;
    }
    return calls;
  }

  uint64_t d_ = 0;
};

TEST_P(RenameTest, LooksEachNameUpOnceWithAndWithoutTrailingSlashes) {
  ASSERT_EQ(TryRename("d/directory", "e/moved"), std::errc{});
  for (const std::string name : {"d", "e", "directory"}) {
    EXPECT_EQ(protocol_->LookupsOf(name), 1u) << name;
  }
  const std::vector<std::string> without_slash = TakeCalls();
  MountTree();
  ASSERT_EQ(TryRename("d/directory/", "e/moved/"), std::errc{});
  EXPECT_EQ(TakeCalls(), without_slash);
}

// WALK-11.
TEST_P(RenameTest, ATrailingSlashAsksForADirectoryAndDoesNotFollowALink) {
  for (const std::string from : {"d/file", "d/link"}) {
    EXPECT_EQ(TryRename(from + "/", "e/moved"), std::errc::not_a_directory) << from;
    EXPECT_EQ(TryRename(from, "e/moved/"), std::errc::not_a_directory) << from;
  }
  EXPECT_EQ(TryRename("d/none/", "e/moved"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(protocol_->Calls("RENAME"), 0u);
  EXPECT_EQ(TryRename("d/directory", "e/moved/"), std::errc{});
  EXPECT_EQ(TryRename("e/moved/", "d/directory"), std::errc{});
  EXPECT_EQ(protocol_->Calls("RENAME"), 2u);
}

TEST_P(RenameTest, ATrailingSlashSeesADirectoryThatReplacedAFile) {
  ASSERT_TRUE(IsFile(Stat("d/file")));
  server_->Take(d_, "file");
  server_->Add(d_, "file", FileType::kDirectory);
  Notice("d");
  EXPECT_EQ(TryRename("d/file/", "e/moved"), std::errc{});
}

// WALK-1.
TEST_P(RenameTest, AfterEstaleBothPathsAreWalkedOnceMore) {
  protocol_->FailOnce("RENAME", protocol::kStale);
  EXPECT_EQ(TryRename("d/file", "e/moved"), std::errc{});
  EXPECT_EQ(protocol_->LookupsOf("d"), 2u);
  EXPECT_EQ(protocol_->LookupsOf("e"), 2u);
  EXPECT_EQ(protocol_->Calls("RENAME"), 2u);

  protocol_->Fail("RENAME", protocol::kStale);
  EXPECT_EQ(TryRename("e/moved", "d/file"), protocol::kStale);
  EXPECT_EQ(protocol_->Calls("RENAME"), 4u);
}

INSTANTIATE_TEST_SUITE_P(AttributeCache, RenameTest, testing::Bool());

}  // namespace
}  // namespace nfswalk
