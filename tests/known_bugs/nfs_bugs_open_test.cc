// Opens by a name that has come to mean another file: bugs of other clients in open, reproduced
// against this one. See docs/testing.md.
#include <gtest/gtest.h>

#include <system_error>

#include "tests/known_bugs/versioned_mount.h"

namespace nfswalk {
namespace {

class StaleOpen : public VersionedMount {
 protected:
  StaleOpen() {
    if (GetParam() == 4) server_->OpenByName();
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, StaleOpen, fixtures::AllVersions(), fixtures::VersionTestName);

class StaleOpenByName : public StaleOpen {};
INSTANTIATE_TEST_SUITE_P(Version, StaleOpenByName, testing::Values(4), fixtures::VersionTestName);

// Another client replaces the file under its name. NAME-26.
TEST_P(StaleOpenByName, AnOpenOpensTheFileThatHasTheNameNow) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  for (int round = 0; round < 3; ++round) {
    const uint64_t now = Replace(directory_, "f");
    auto file = client_->Open("d/f", kMayRead, me_);
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->attributes().fileid, now);
    EXPECT_EQ(Stat("d/f"), now);
  }
}

// A directory of the prefix has been replaced: the whole walk is repeated. NAME-15.
TEST_P(StaleOpenByName, AStaleOpenRepeatsTheWholeWalk) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  server_->Add(sub, "leaf", FileType::kRegular);
  Mount();
  ASSERT_TRUE(IsFile(Stat("d/sub/leaf")));
  ASSERT_TRUE(IsFile(Cached("d/sub/leaf")));
  server_->Take(sub, "leaf");
  server_->Take(directory_, "sub");
  const uint64_t new_sub = server_->Add(directory_, "sub", FileType::kDirectory);
  const uint64_t now = server_->Add(new_sub, "leaf", FileType::kRegular);
  auto file = client_->Open("d/sub/leaf", kMayRead, me_);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->attributes().fileid, now);
}

TEST_P(StaleOpenByName, AFileThatBecameADirectoryIsNotOpened) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Take(directory_, "f");
  const uint64_t now = server_->Add(directory_, "f", FileType::kDirectory);
  EXPECT_EQ(Open("d/f"), std::errc::is_a_directory);
  EXPECT_EQ(Stat("d/f"), now);
}

TEST_P(StaleOpenByName, AFileThatAnOpenFindsGoneIsNotAskedForAgain) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Take(directory_, "f");
  EXPECT_EQ(Open("d/f"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(Rpcs([&] { (void)Open("d/f"); }), 0u);
}

TEST_P(StaleOpen, FailingOpensAskTheServerOnce) {
  Mount();
  EXPECT_EQ(Open("d/none"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(Rpcs([&] {
              for (int i = 0; i < 100; ++i) {
                EXPECT_EQ(Open("d/none"), std::errc::no_such_file_or_directory);
              }
            }),
            0u);
}

// A directory that became a file is not listed as a directory, nor searched.
TEST_P(StaleOpen, ADirectoryThatBecameAFileIsNoDirectory) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  server_->Add(sub, "leaf", FileType::kRegular);
  Mount();
  ASSERT_TRUE(IsFile(Stat("d/sub/leaf")));
  const uint64_t now = Replace(directory_, "sub");
  Notice("d");
  EXPECT_EQ(client_->ReadDir("d/sub", me_, [](const auto&) { return true; }),
            std::errc::not_a_directory);
  EXPECT_EQ(StatError("d/sub/leaf"), std::errc::not_a_directory);
  EXPECT_EQ(StatError("d/sub/"), std::errc::not_a_directory);
  EXPECT_EQ(Open("d/sub/"), std::errc::not_a_directory);
  EXPECT_EQ(Stat("d/sub"), now);
}

}  // namespace
}  // namespace nfswalk
