#include "nfsclient/mount/stale_retries.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "nfsclient/superblock/open_inodes.h"
#include "nfsclient/superblock/superblock.h"
#include "tests/fixtures/client_internals.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::mount {
namespace {

using After = NameRetries::After;

TEST(NameRetriesTest, AThreadIsAskedToComeBackOnce) {
  NameRetries retries;
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "b", After::kFound));
  EXPECT_TRUE(retries.MayAskAgain(7, 2, "a", After::kFound));
  EXPECT_TRUE(retries.MayAskAgain(8, 1, "a", After::kFound));
  EXPECT_FALSE(retries.MayAskAgain(7, 1, "a", After::kFound));
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
}

// Mostly the VFS answers the caller itself after its LOOKUP, and the next change is another.
TEST(NameRetriesTest, AThreadThatDoesNotComeBackIsAskedAgain) {
  NameRetries retries;
  const auto now = NameRetries::Clock::now();
  const auto late = now + 2 * NameRetries::kKept;
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound, now));
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound, late));
  EXPECT_FALSE(retries.MayAskAgain(7, 1, "a", After::kFound, late));

  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
  retries.NoteLookup(7, 1, "a", true);
  EXPECT_FALSE(retries.MayAskAgain(7, 1, "a", After::kFound)) << "it comes back after a LOOKUP";
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
  for (const auto& [caller, directory, name] : std::to_array<std::tuple<pid_t, uint64_t, const char*>>(
           {{7, 1, "a"}, {8, 1, "a"}, {7, 2, "a"}, {7, 1, "b"}})) {
    retries.NoteLookup(caller, directory, name, true);
  }
  EXPECT_FALSE(retries.MayAskAgain(7, 1, "a", After::kFound)) << "others looked other names up";

  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
  for (int i = 0; i < 2; ++i) retries.NoteLookup(7, 1, "a", true);
  EXPECT_FALSE(retries.MayAskAgain(7, 1, "a", After::kFound)) << "the LOOKUP was news to the kernel";
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
  for (int i = 0; i < 3; ++i) retries.NoteLookup(7, 1, "a", true);
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound)) << "it has begun another call";

  EXPECT_FALSE(retries.End(8, 1, "a"));
  EXPECT_FALSE(retries.End(7, 1, "a", NameRetries::Clock::now() + 2 * NameRetries::kKept));
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound));
  EXPECT_TRUE(retries.End(7, 1, "a"));
  EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", After::kFound)) << "it came back, and was not refused";
}

// Which the VFS answers with EEXIST or ENOENT.
TEST(NameRetriesTest, ALookupThatAnswersTheCallEndsIt) {
  for (const After after : {After::kMissing, After::kFound, After::kEither}) {
    for (const bool is_found : {false, true}) {
      NameRetries retries;
      EXPECT_TRUE(retries.MayAskAgain(7, 1, "a", after));
      retries.NoteLookup(7, 1, "a", is_found);
      EXPECT_EQ(retries.MayAskAgain(7, 1, "a", after),
                after == (is_found ? After::kMissing : After::kFound));
    }
  }
}

TEST(NameRetriesTest, CallersOfOtherNamespacesAreNotAsked) {
  NameRetries retries;
  EXPECT_FALSE(retries.MayAskAgain(0, 1, "a", After::kFound));
}

TEST(NameRetriesTest, ThreadsThatDoNotComeBackAreBounded) {
  NameRetries retries;
  for (size_t i = 1; i <= NameRetries::kMax + 1; ++i) {
    EXPECT_TRUE(retries.MayAskAgain(static_cast<pid_t>(i), 1, "a", After::kFound));
  }
  EXPECT_FALSE(retries.MayAskAgain(NameRetries::kMax + 1, 1, "a", After::kFound));
  EXPECT_TRUE(retries.MayAskAgain(1, 1, "a", After::kFound));
}

class OpenRetriesTest : public MemoryMount {
 protected:
  void SetUp() override {
    for (const char* name : {"f", "g"}) server_->Add(kRoot, name, FileType::kRegular);
    Mount();
  }
  NodeId IdOf(const std::string& path) const { return (*client_->Resolve(path, me_))->id(); }
  std::unique_ptr<File> OpenFile(const std::string& path) const {
    return *client_->Open(path, kMayRead, me_);
  }
  OpenRetries retries_;
};

TEST_F(OpenRetriesTest, AnOpenComesBackOnce) {
  const auto before = OpenRetries::Clock::now();
  EXPECT_FALSE(retries_.RightsOf(7, me_));
  retries_.Add(7, kMayWrite, me_);
  EXPECT_FALSE(retries_.Take(8, kMayWrite, me_, IdOf("f")));
  EXPECT_EQ(retries_.RightsOf(7, me_), kMayWrite);
  const auto retry = retries_.Take(7, kMayWrite, me_, IdOf("f"));
  ASSERT_TRUE(retry);
  EXPECT_GE(retry->since, before);
  EXPECT_EQ(retry->file, nullptr);
  EXPECT_FALSE(retries_.Take(7, kMayWrite, me_, IdOf("f")));
  EXPECT_FALSE(retries_.RightsOf(7, me_));
}

TEST_F(OpenRetriesTest, TheFileOpenedMeanwhileIsThatOfItsNodeOnly) {
  for (const char* name : {"f", "g"}) {
    retries_.Add(7, kMayRead, me_);
    auto file = OpenFile("f");
    const File* const opened = file.get();
    retries_.Keep(7, IdOf("f"), std::move(file));
    const auto retry = retries_.Take(7, kMayRead, me_, IdOf(name));
    ASSERT_TRUE(retry);
    EXPECT_EQ(retry->file.get(), name == std::string("f") ? opened : nullptr);
  }
}

// No user and no open for other rights gets what was opened for another, nor any user a late one.
TEST_F(OpenRetriesTest, AnOpenThatIsAnotherGetsNothing) {
  const Credential other(me_.uid() + 1, me_.gid());
  const auto add = [&] {
    retries_.Add(7, kMayRead, me_);
    retries_.Keep(7, IdOf("f"), OpenFile("f"));
  };
  add();
  EXPECT_FALSE(retries_.RightsOf(7, other));
  EXPECT_FALSE(retries_.Take(7, kMayRead, other, IdOf("f")));
  add();
  EXPECT_FALSE(retries_.Take(7, kMayRead | kMayWrite, me_, IdOf("f")));
  EXPECT_FALSE(retries_.Has(7));
  add();
  const auto late = OpenRetries::Clock::now() + 2 * OpenRetries::kKept;
  const auto retry = retries_.Take(7, kMayRead, me_, IdOf("f"), late);
  ASSERT_TRUE(retry);
  EXPECT_EQ(retry->file, nullptr);
}

TEST_F(OpenRetriesTest, AWalkThatEndsIsNotExpectedToOpen) {
  retries_.Add(7, kMayRead, me_);
  EXPECT_TRUE(retries_.Has(7));
  retries_.NoteMiss(7);
  EXPECT_TRUE(retries_.RightsOf(7, me_)) << "that might be news to the kernel";
  retries_.NoteMiss(7);
  EXPECT_FALSE(retries_.Has(7));
  retries_.Keep(7, IdOf("f"), OpenFile("f"));
  EXPECT_FALSE(retries_.Take(7, kMayRead, me_, IdOf("f")));
}

// An open file hides its name when that is removed, and a hidden name keeps its directory.
TEST_F(OpenRetriesTest, AFileThatNobodyComesForIsClosed) {
  OpenRetries retries(std::chrono::milliseconds(1));
  retries.Add(7, kMayRead, me_);
  auto file = OpenFile("f");
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(*client_);
  const vfs::PaddedName name("f", superblock.root.get());
  const auto inode =
      icache::Hold(*superblock.dentries.Lookup(*superblock.root, name.name()).inode());
  const auto is_open = [&] {
    return nfs::OpenInodes::Removal(superblock.open_inodes, *inode).is_open();
  };
  EXPECT_TRUE(is_open());
  retries.Keep(7, IdOf("f"), std::move(file));
  while (is_open()) {
  }
  retries.Clear();
}

TEST_F(OpenRetriesTest, ThreadsThatDoNotComeBackAreBounded) {
  for (size_t i = 0; i <= OpenRetries::kMax + 1; ++i) {
    retries_.Add(static_cast<pid_t>(i), kMayRead, me_);
  }
  EXPECT_TRUE(retries_.Has(OpenRetries::kMax + 1));
  EXPECT_FALSE(retries_.Has(1));
  EXPECT_FALSE(retries_.Has(0));
}

}  // namespace
}  // namespace nfswalk::mount
