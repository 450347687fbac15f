// Opens by a name that leads elsewhere by now: bugs of other clients in open, played against this
// one. See docs/known_bugs.md.
#include <gtest/gtest.h>

#include <system_error>

#include "tests/known_bugs/nfs_bugs.h"

namespace nfswalk {
namespace {

class NfsBugsOfOpen : public NfsBugs {
 protected:
  NfsBugsOfOpen() {
    if (GetParam() == 4) server_->OpensByName();
  }
  std::errc Open(std::string_view path) {
    auto file = client_->Open(path, kMayRead, me_);
    return file ? std::errc{} : file.error();
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, NfsBugsOfOpen, testing::Values(3, 4), VersionOfTest);

class NfsBugsOfOpenByName : public NfsBugsOfOpen {};
INSTANTIATE_TEST_SUITE_P(Version, NfsBugsOfOpenByName, testing::Values(4), VersionOfTest);

// Another client saves the file: a new one takes its name. NAME-26.
TEST_P(NfsBugsOfOpenByName, B12_AnOpenOpensTheFileThatHasTheNameNow) {
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

// A directory on the way is another one by now: the whole walk is repeated. NAME-15.
TEST_P(NfsBugsOfOpenByName, B28_AStaleOpenRepeatsTheWholeWalk) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  server_->Add(sub, "leaf", FileType::kRegular);
  Mount();
  ASSERT_NE(Stat("d/sub/leaf"), 0u);
  ASSERT_TRUE(Cached("d/sub/leaf").has_value());
  server_->Take(sub, "leaf");
  server_->Take(directory_, "sub");
  const uint64_t new_sub = server_->Add(directory_, "sub", FileType::kDirectory);
  const uint64_t now = server_->Add(new_sub, "leaf", FileType::kRegular);
  auto file = client_->Open("d/sub/leaf", kMayRead, me_);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->attributes().fileid, now);
}

TEST_P(NfsBugsOfOpenByName, B29_AFileThatBecameADirectoryIsNotOpened) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Take(directory_, "f");
  const uint64_t now = server_->Add(directory_, "f", FileType::kDirectory);
  EXPECT_EQ(Open("d/f"), std::errc::is_a_directory);
  EXPECT_EQ(Stat("d/f"), now);
}

TEST_P(NfsBugsOfOpenByName, B13_AFileThatAnOpenFindsGoneIsNotAskedForAgain) {
  Mount();
  ASSERT_EQ(Stat("d/f"), file_);
  server_->Take(directory_, "f");
  EXPECT_EQ(Open("d/f"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(Rpcs([&] { (void)Open("d/f"); }), 0u);
}

TEST_P(NfsBugsOfOpen, B13_FailingOpensAskTheServerOnce) {
  Mount();
  EXPECT_EQ(Open("d/none"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(Rpcs([&] {
              for (int i = 0; i < 100; ++i) {
                EXPECT_EQ(Open("d/none"), std::errc::no_such_file_or_directory);
              }
            }),
            0u);
}

// A directory that became a file is not listed as what it was, nor is anything found in it.
TEST_P(NfsBugsOfOpen, B29_ADirectoryThatBecameAFileIsNoDirectory) {
  const uint64_t sub = server_->Add(directory_, "sub", FileType::kDirectory);
  server_->Add(sub, "leaf", FileType::kRegular);
  Mount();
  ASSERT_NE(Stat("d/sub/leaf"), 0u);
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
