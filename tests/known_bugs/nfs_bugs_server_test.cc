// Bugs of other clients that depend on the server's behaviour, against a real one. See
// docs/testing.md.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::VersionedExport;

class StaleOnServer : public VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("actimeo=600");
    ASSERT_NE(client_, nullptr);
  }

  bool Exists(std::string_view name) { return client_->Stat(Path(name), root_).has_value(); }
  uint64_t FileId(Client& client, std::string_view name) {
    auto attributes = client.Stat(Path(name), root_);
    return attributes ? attributes->fileid : 0;
  }
  struct stat BackingStat(std::string_view name) const {
    struct stat backing{};
    EXPECT_EQ(lstat(Backing(name).c_str(), &backing), 0) << name;
    return backing;
  }
  // The content of the file that an open finds, or the error's name.
  std::string Read(std::string_view name) {
    auto file = client_->Open(Path(name), kMayRead, root_);
    if (!file) return std::make_error_condition(file.error()).message();
    std::array<std::byte, 100> data;
    auto count = (*file)->PRead(data, 0);
    if (!count) return std::make_error_condition(count.error()).message();
    return {reinterpret_cast<const char*>(data.data()), *count};
  }
  // Returns once a change of `name` would change its times, whatever the tick of the server's
  // clock.
  void AwaitTick(std::string_view name) const {
    const auto of = [](const struct stat& s) {
      return static_cast<int64_t>(s.st_ctim.tv_sec) * 1'000'000'000 + s.st_ctim.tv_nsec;
    };
    const int64_t before = of(BackingStat(name));
    MakeFile("probe");
    while (of(BackingStat("probe")) <= before) {
      ASSERT_EQ(chmod(Backing("probe").c_str(), 0600), 0);
    }
  }

  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Versions, StaleOnServer, fixtures::AllVersions(),
                         fixtures::VersionTestName);

// A delegation does not make the other name of a file valid.
TEST_P(StaleOnServer, RenamedOneOfTwoLinksIsGoneAndTheOtherStays) {
  MakeFile("one", "text");
  std::filesystem::create_hard_link(Backing("one"), Backing("two"));
  ASSERT_EQ(Read("one"), "text");  // a server delegates at OPEN
  ASSERT_TRUE(Exists("two"));
  auto other = Mount("actimeo=600");
  ASSERT_NE(other, nullptr);
  AwaitTick("");
  ASSERT_EQ(other->Rename(Path("two"), Path("three"), root_), std::errc{});
  client_->InvalidateCaches();
  EXPECT_FALSE(Exists("two"));
  EXPECT_TRUE(Exists("one"));
  EXPECT_EQ(FileId(*client_, "three"), FileId(*client_, "one"));
}

TEST_P(StaleOnServer, AnOpenReadsTheFileThatHasReplacedTheOldOne) {
  MakeFile("file", "old");
  ASSERT_EQ(Read("file"), "old");
  MakeFile("next", "new");
  std::filesystem::rename(Backing("next"), Backing("file"));
  EXPECT_EQ(Read("file"), "new");
}

TEST_P(StaleOnServer, AFileThatIsMovedAwayAndMadeAnewIsSeenEveryTime) {
  auto watcher = Mount("noac");
  ASSERT_NE(watcher, nullptr);
  MakeFile("file");
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(FileId(*watcher, "file"), BackingStat("file").st_ino) << round;
    AwaitTick("");
    std::filesystem::rename(Backing("file"), Backing("file.old"));
    MakeFile("file");
  }
  EXPECT_EQ(FileId(*watcher, "file"), BackingStat("file").st_ino);
}

// The reply to RENAME does not identify the file moved.
TEST_P(StaleOnServer, ARenamedNameShowsTheFileThatTheServerMoved) {
  MakeFile("file", "old");
  ASSERT_TRUE(Exists("file"));
  AwaitTick("");
  std::filesystem::rename(Backing("file"), Backing("kept"));
  MakeFile("file", "new");
  ASSERT_EQ(client_->Rename(Path("file"), Path("moved"), root_), std::errc{});
  EXPECT_EQ(FileId(*client_, "moved"), BackingStat("moved").st_ino);
  EXPECT_EQ(Read("moved"), "new");
  EXPECT_FALSE(Exists("file"));
}

// A directory of the prefix has been replaced.
TEST_P(StaleOnServer, AnOpenThatFindsItsFileGoneRepeatsTheWholeWalk) {
  MakeDirectory("dir");
  MakeFile("dir/file", "old");
  ASSERT_EQ(Read("dir/file"), "old");
  std::filesystem::remove_all(Backing("dir"));
  MakeDirectory("dir");
  MakeFile("dir/file", "new");
  EXPECT_EQ(Read("dir/file"), "new");
}

// A create without O_EXCL looks its file up, as an open does.
TEST_P(StaleOnServer, ACreateThatFindsItsFileGoneMakesAnother) {
  MakeDirectory("dir");
  MakeFile("dir/file", "old");
  ASSERT_EQ(client_->Create(Path("dir/file"), 0644, false, root_)->attributes.size_bytes, 3u);
  std::filesystem::remove(Backing("dir/file"));
  auto made = client_->Create(Path("dir/file"), 0644, false, root_);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->attributes.size_bytes, 0u);
  EXPECT_TRUE(std::filesystem::exists(Backing("dir/file")));
}

TEST_P(StaleOnServer, ReplacedTypeIsTreatedAsTheNewOne) {
  MakeDirectory("dir");
  MakeFile("file");
  ASSERT_TRUE(Exists("dir"));
  ASSERT_EQ(Read("file"), "");
  const auto visit = [](const auto&) { return true; };
  ASSERT_EQ(client_->ReadDir(Path("dir"), root_, visit), std::errc{});
  // Linux says NOENT, not STALE, of a removed directory that is still in use.
  const bool used = version() == 3 || !server().properties().finds_removed_names;
  const int in_use = used ? open(Backing("dir").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  std::filesystem::remove(Backing("dir"));
  MakeFile("dir", "text");
  std::filesystem::remove(Backing("file"));
  MakeDirectory("file");
  EXPECT_EQ(client_->ReadDir(Path("dir"), root_, visit), std::errc::not_a_directory);
  if (used) close(in_use);
  EXPECT_EQ(client_->Open(Path("file"), kMayRead, root_).error(), std::errc::is_a_directory);
  EXPECT_EQ(Read("dir"), "text");
}

// The server does nothing then (rename(2)), and the client knew only one of the links.
TEST_P(StaleOnServer, ARenameOntoALinkThatOthersMadeLeavesBothNames) {
  MakeDirectory("x");
  MakeDirectory("y");
  MakeFile("x/file");
  ASSERT_TRUE(Exists("x/file"));
  ASSERT_FALSE(Exists("y/link"));
  AwaitTick("y");
  std::filesystem::create_hard_link(Backing("x/file"), Backing("y/link"));
  ASSERT_EQ(client_->Rename(Path("x/file"), Path("y/link"), root_), std::errc{});
  EXPECT_TRUE(std::filesystem::exists(Backing("x/file")));
  EXPECT_TRUE(Exists("x/file"));
  EXPECT_TRUE(Exists("y/link"));
}

}  // namespace
}  // namespace nfswalk
