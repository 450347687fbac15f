// Files that are removed while this client has them open (NAME-31), against a real server.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <latch>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <thread>

#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/nfs4.h"
#include "rcu/sync_point.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/fixtures/wrapped_protocol.h"

namespace nfswalk {
namespace {

constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;

class SillyRename : public fixtures::ExportClient {
 protected:
  void SetUp() override {
    ExportClient::SetUp();
    if (client_ == nullptr) return;
    MakeDirectory("d");
    MakeFile("d/file", "hello");
  }
  void TearDown() override { rcu::SyncPointScript::ClearAll(); }

  // Returns the names that the server has in a directory: the hidden ones, or the others.
  std::set<std::string> OnServer(std::string_view directory, bool hidden) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Backing(directory))) {
      const std::string name = entry.path().filename();
      if (name.starts_with(".nfs") == hidden) names.insert(name);
    }
    return names;
  }
  size_t Hidden(std::string_view directory) const { return OnServer(directory, true).size(); }
  std::set<std::string> Listed(std::string_view directory) {
    std::set<std::string> names;
    const auto visit = [&](const DirectoryEntry& entry) { return names.insert(entry.name).second; };
    EXPECT_EQ(client_->ReadDir(Path(directory), root_, visit), kOk);
    std::set<std::string> read_on;
    auto opened = client_->OpenDirectory(Path(directory), root_);
    EXPECT_EQ((*opened)->Read(0, [&](auto& e) { return read_on.insert(e.name).second; }), kOk);
    EXPECT_EQ(names, read_on);
    return names;
  }

  // From now on an open of a warm path sends nothing over version 3.
  void MountWithoutRpcs() {
    client_ = Mount("actimeo=600&nocto");
    for (int i = 0; i < 2; ++i) EXPECT_NE(Open("d/file"), nullptr);
    const uint64_t rpcs = client_->stats().rpcs;
    EXPECT_NE(Open("d/file"), nullptr);
    if (version() == 3) {
      EXPECT_EQ(client_->stats().rpcs, rpcs);
    }
  }
  // Removes d/file while it is being opened. Preconditions: a debug build.
  void ExpectThatAnOpenWaits() {
    std::thread opener;
    std::errc opened{};
    std::counting_semaphore<2> waits_or_ended(0);
    rcu::SyncPointScript::OnReach("open-inodes:wait-for-removal",
                                  [&] { waits_or_ended.release(); });
    rcu::SyncPointScript::OnReach("change:removal-began", [&] {
      opener = std::thread([&] {
        auto file = client_->Open(Path("d/file"), kMayRead, root_);
        opened = file ? kOk : file.error();
        waits_or_ended.release();
      });
      waits_or_ended.acquire();
    });
    EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
    opener.join();
    EXPECT_EQ(opened, kNoEntry);
    EXPECT_EQ(Hidden("d"), 0u);
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, SillyRename, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(SillyRename, AnOpenFileKeepsWorkingUntilItsLastClose) {
  auto first = Open("d/file");
  auto second = Open("d/file");
  ASSERT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(StatError("d/file"), kNoEntry);
  client_->DropCaches();
  client_->InvalidateCaches();
  EXPECT_EQ(StatError("d/file"), kNoEntry);
  EXPECT_EQ(Text(*first), "hello");
  EXPECT_EQ(second->PWrite(std::as_bytes(std::span("HE", 2)), 0), 2u);
  EXPECT_EQ(Text(*first), "HEllo");
  EXPECT_TRUE(first->SetAttributesOf({.mode = 0600}).has_value());
  EXPECT_EQ(first->attributes().nlink, 1u);  // the hidden name's, as the kernel's client has it
  first.reset();
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(Text(*second), "HEllo");
  second.reset();
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(client_->RemoveDirectory(Path("d"), root_), kOk);
}

TEST_P(SillyRename, AHiddenNameIsNotShown) {
  MakeFile("d/other");
  MakeFile("d/.nfs0123");
  auto file = Open("d/file");
  ASSERT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  const std::string hidden = [&] {
    auto names = OnServer("d", true);
    names.erase(".nfs0123");
    return names.size() == 1 ? *names.begin() : "";
  }();
  ASSERT_NE(hidden, "");
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(Listed("d"), (std::set<std::string>{".nfs0123", "other"}));
    EXPECT_EQ(StatError("d/" + hidden), kNoEntry);
    EXPECT_EQ(client_->Lookup(Path("d/" + hidden), root_)->node, nullptr);
    EXPECT_EQ(client_->Unlink(Path("d/" + hidden), root_), kNoEntry);
    EXPECT_EQ(client_->Rename(Path("d/" + hidden), Path("d/x"), root_), kNoEntry);
    EXPECT_EQ(client_->Rename(Path("d/other"), Path("d/" + hidden), root_),
              std::errc::device_or_resource_busy);
    EXPECT_EQ(client_->Create(Path("d/" + hidden), 0600, true, root_).error(),
              std::errc::file_exists);
    EXPECT_EQ(StatError("d/.nfs0123"), kOk);
    // Another client changes the directory, so that the server is asked again.
    MakeFile("d/other", "x" + std::to_string(turn));
    std::filesystem::rename(Backing("d/other"), Backing("d/moved"));
    std::filesystem::rename(Backing("d/moved"), Backing("d/other"));
    client_->InvalidateCaches();
    if (turn == 1) client_->DropCaches();
  }
  // Its directory is not empty.
  EXPECT_EQ(client_->Unlink(Path("d/other"), root_), kOk);
  EXPECT_EQ(client_->Unlink(Path("d/.nfs0123"), root_), kOk);
  EXPECT_EQ(client_->RemoveDirectory(Path("d"), root_), std::errc::directory_not_empty);
  // Nor is it hidden from others.
  const auto other = Mount("actimeo=600");
  EXPECT_TRUE(other->Stat(Path("d/" + hidden), root_).has_value());
  EXPECT_EQ(Text(*file), "hello");
}

TEST_P(SillyRename, OnlyTheLastNameOfAnOpenFileIsKept) {
  std::filesystem::create_hard_link(Backing("d/file"), Backing("d/link"));
  MakeFile("d/closed");
  (void)Open("d/closed");
  auto file = Open("d/file");
  EXPECT_EQ(client_->Unlink(Path("d/closed"), root_), kOk);
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(Text(*file), "hello");
  EXPECT_EQ(client_->Unlink(Path("d/link"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(Text(*file), "hello");
  file.reset();
  EXPECT_EQ(OnServer("d", true), std::set<std::string>{});
  EXPECT_EQ(OnServer("d", false), std::set<std::string>{});
}

// Another client removed the other name, which the cached count does not show.
TEST_P(SillyRename, TheServersCountOfNamesDecides) {
  std::filesystem::create_hard_link(Backing("d/file"), Backing("link"));
  auto file = Open("d/file");
  ASSERT_EQ(client_->Stat(Path("d/file"), root_)->nlink, 2u);
  std::filesystem::remove(Backing("link"));
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(Text(*file), "hello");
}

TEST_P(SillyRename, ARenameOverAnOpenFileKeepsItAsWell) {
  MakeFile("d/new", "new");
  auto file = Open("d/file");
  ASSERT_EQ(client_->Rename(Path("d/new"), Path("d/file"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(Text(*file), "hello");
  EXPECT_EQ(Text(*Open("d/file")), "new");
  EXPECT_EQ(Listed("d"), (std::set<std::string>{"file"}));
  file.reset();
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(Text(*Open("d/file")), "new");
}

// The absence of the replaced name is nothing that this client ever knows.
TEST_P(SillyRename, TheNameOfAReplacedOpenFileIsNeverAbsentHere) {
  MakeFile("d/new", "new");
  auto file = Open("d/file");
  std::errc seen{};
  rcu::SyncPointScript::OnReach("change:taken-in", [&] {
    const auto found = client_->Stat(Path("d/file"), root_, {.cached = true});
    seen = found ? kOk : found.error();
  });
  ASSERT_EQ(client_->Rename(Path("d/new"), Path("d/file"), root_), kOk);
  EXPECT_EQ(seen, std::errc::resource_unavailable_try_again);
  EXPECT_EQ(StatError("d/file"), kOk);
}

// Another client removes what is open here, before it is hidden: a rename over nothing.
TEST_P(SillyRename, ARenameOverAnOpenFileThatIsGoneReplacesNothing) {
  MakeFile("d/new", "new");
  auto file = Open("d/file");
  rcu::SyncPointScript::OnReach("silly-rename:before-rename",
                                [&] { std::filesystem::remove(Backing("d/file")); });
  ASSERT_EQ(client_->Rename(Path("d/new"), Path("d/file"), root_), kOk);
  EXPECT_EQ(Text(*Open("d/file")), "new");
  EXPECT_EQ(StatError("d/new"), std::errc::no_such_file_or_directory);
}

TEST_P(SillyRename, ARenameThatReplacesNothingHidesNothing) {
  std::filesystem::create_hard_link(Backing("d/file"), Backing("d/link"));
  MakeDirectory("d/sub");
  auto file = Open("d/file");
  EXPECT_EQ(client_->Rename(Path("d/link"), Path("d/file"), root_), kOk);  // two links of one file
  EXPECT_EQ(client_->Rename(Path("d/file"), Path("d/file"), root_), kOk);
  EXPECT_NE(client_->Rename(Path("d/sub"), Path("d/file"), root_), kOk);
  EXPECT_EQ(client_->Rename(Path("d/none"), Path("d/file"), root_), kNoEntry);
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(client_->Rename(Path("d/file"), Path("d/moved"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(client_->Unlink(Path("d/link"), root_), kOk);
  EXPECT_EQ(client_->Unlink(Path("d/moved"), root_), kOk);  // followed through its rename
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(Text(*file), "hello");
}

TEST_P(SillyRename, TheNameComesBackIfTheRenameIsRefused) {
  MakeFile("d/new", "new");
  auto file = Open("d/file");
  ASSERT_TRUE(client_->Stat(Path("d/new"), root_).has_value());
  std::filesystem::remove(Backing("d/new"));  // another client's removal, which no reply has shown
  EXPECT_EQ(client_->Rename(Path("d/new"), Path("d/file"), root_), kNoEntry);
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(StatError("d/file"), kOk);
  EXPECT_EQ(Text(*file), "hello");
}

TEST_P(SillyRename, ANameThatExistsIsLeftAlone) {
  auto first = Open("d/file");
  ASSERT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  const std::string used = *OnServer("d", true).begin();
  MakeFile("d/second", "second");
  struct stat found = {};
  ASSERT_EQ(stat(Backing("d/second").c_str(), &found), 0);
  const auto number = std::stoul(used.substr(20), nullptr, 16);
  std::array<char, 32> taken;
  std::snprintf(taken.data(), taken.size(), ".nfs%016lx%08lx", found.st_ino, number + 1);
  MakeFile("d/" + std::string(taken.data()), "another client's");
  auto second = Open("d/second");
  ASSERT_EQ(client_->Unlink(Path("d/second"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 3u);
  EXPECT_EQ(Text(*second), "second");
  first.reset();
  second.reset();
  EXPECT_EQ(OnServer("d", true), std::set<std::string>{taken.data()});
}

TEST_P(SillyRename, AnotherClientMayRemoveTheHiddenName) {
  auto file = Open("d/file");
  ASSERT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  std::filesystem::remove(Backing("d/" + *OnServer("d", true).begin()));
  file.reset();
  EXPECT_EQ(Listed("d"), std::set<std::string>{});
  EXPECT_EQ(client_->RemoveDirectory(Path("d"), root_), kOk);
}

TEST_P(SillyRename, TheRemoverRemovesIt) {
  std::filesystem::permissions(Backing("d"), std::filesystem::perms::owner_all);
  ASSERT_EQ(chown(Backing("d").c_str(), 1000, 1000), 0);
  std::filesystem::permissions(Backing("d/file"), std::filesystem::perms::all);
  auto file = Open("d/file");
  EXPECT_EQ(client_->Unlink(Path("d/file"), Credential(1001, 1001)), std::errc::permission_denied);
  EXPECT_EQ(Hidden("d"), 0u);
  EXPECT_EQ(client_->Unlink(Path("d/file"), Credential(1000, 1000)), kOk);
  EXPECT_EQ(Hidden("d"), 1u);
  file.reset();
  EXPECT_EQ(Hidden("d"), 0u);
}

TEST_P(SillyRename, TheEndOfTheMountCleansUp) {
  MakeFile("d/second");
  auto first = Open("d/file");
  auto second = Open("d/second");
  ASSERT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  ASSERT_EQ(client_->Unlink(Path("d/second"), root_), kOk);
  EXPECT_EQ(Hidden("d"), 2u);
  client_->Shutdown();
  EXPECT_EQ(Hidden("d"), 0u);
}

#ifndef NDEBUG

// An open that found the name before it was removed: waits for the removal, and finds out that the
// name is gone. A server of version 4 would refuse it.
TEST_P(SillyRename, AnOpenDoesNotGetAFileThatIsBeingRemoved) {
  ASSERT_TRUE(client_->Stat(Path("d/file"), root_).has_value());
  ExpectThatAnOpenWaits();
}

// An open that would send nothing is counted inside an RCU section.
TEST_P(SillyRename, AnOpenWithoutAnRpcWaitsForARemoval) {
  MountWithoutRpcs();
  ExpectThatAnOpenWaits();
}

// It is counted, and then finds the name gone, before the removal looks and after.
TEST_P(SillyRename, AnOpenWithoutAnRpcFindsTheNameGone) {
  MountWithoutRpcs();
  rcu::SyncPointScript::OnReach("open:registered", [&] {
    rcu::SyncPointScript::ClearAll();
    std::thread([&] { EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk); }).join();
    EXPECT_EQ(Hidden("d"), 1u);
  });
  const auto file = client_->Open(Path("d/file"), kMayRead, root_);
  EXPECT_EQ(file.error(), kNoEntry);
  EXPECT_EQ(Hidden("d"), 0u);
}

// An open is counted before the removal looks: it keeps its file.
TEST_P(SillyRename, AFileThatIsBeingOpenedIsKept) {
  ASSERT_TRUE(client_->Stat(Path("d/file"), root_).has_value());
  rcu::SyncPointScript::OnReach("open:registered", [&] {
    rcu::SyncPointScript::ClearAll();
    std::thread([&] { EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk); }).join();
    EXPECT_EQ(Hidden("d"), 1u);
  });
  auto file = client_->Open(Path("d/file"), kMayRead, root_);
  if (version() == 3) {
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(Text(**file), "hello");
    file->reset();
  } else {
    EXPECT_EQ(file.error(), kNoEntry);  // opened by name, which is gone
  }
  EXPECT_EQ(Hidden("d"), 0u);
}

// The last close comes while the name is being hidden: before, so that the close finds nothing to
// remove, or between.
TEST_P(SillyRename, AFileClosedWhileItsNameIsHiddenIsRemoved) {
  auto file = Open("d/file");
  rcu::SyncPointScript::OnReach("silly-rename:begin", [&] { file.reset(); });
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  EXPECT_EQ(file, nullptr);
  EXPECT_EQ(Hidden("d"), 0u);
  rcu::SyncPointScript::ClearAll();

  MakeFile("d/second");
  auto second = Open("d/second");
  std::thread closer;
  std::latch closed(1);
  rcu::SyncPointScript::OnReach("open:closed", [&] { closed.count_down(); });
  rcu::SyncPointScript::OnReach("silly-rename:before-rename", [&] {
    closer = std::thread([&] { second.reset(); });
    closed.wait();
  });
  EXPECT_EQ(client_->Unlink(Path("d/second"), root_), kOk);
  closer.join();
  EXPECT_EQ(Hidden("d"), 0u);
}

#endif

// Loses the reply of the next RENAME or REMOVE, or the request.
class LosingProtocol final : public fixtures::WrappedProtocol<LosingProtocol> {
 public:
  using WrappedProtocol::WrappedProtocol;
  enum class Lost { kNothing, kRequest, kReply };

  protocol::RenameReply Rename(const FileHandle& from_directory, std::string_view from_name,
                               const FileHandle& to_directory, std::string_view to_name,
                               const std::optional<protocol::KnownObject>& known,
                               const Credential& who) override {
    return Lose<protocol::RenameReply>(rename, [&] {
      return inner_->Rename(from_directory, from_name, to_directory, to_name, known, who);
    });
  }
  protocol::RemoveReply Remove(const FileHandle& directory, std::string_view name,
                               const std::optional<protocol::KnownObject>& known,
                               const Credential& who) override {
    return Lose<protocol::RemoveReply>(remove,
                                       [&] { return inner_->Remove(directory, name, known, who); });
  }

  Lost rename = Lost::kNothing, remove = Lost::kNothing;

 private:
  template <class Reply, class Send>
  static Reply Lose(Lost& lost, Send&& send) {
    const Lost what = std::exchange(lost, Lost::kNothing);
    if (what == Lost::kNothing) return send();
    if (what == Lost::kReply) (void)send();
    Reply reply;
    reply.error = std::errc::timed_out;
    return reply;
  }
};

class SillyRenameFaults : public SillyRename {
 protected:
  void SetUp() override {
    SillyRename::SetUp();
    if (IsSkipped()) return;
    client_.reset();
    fixtures::NfsServer::NetworkScope scope(server());
    auto options = ParseMountUrl(server().Url("actimeo=600", version()));
    ASSERT_TRUE(options.has_value());
    auto losing = std::make_unique<LosingProtocol>(
        version() == 4 ? *protocol::Nfs4::ConnectNfs4(options->server, options->transport)
                       : *protocol::Nfs3::ConnectNfs3(options->server, options->transport));
    protocol_ = losing.get();
    client_ = *Client::MountOver(std::move(losing), *options);
  }

  LosingProtocol* protocol_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Versions, SillyRenameFaults, fixtures::AllVersions(),
                         fixtures::VersionTestName);

using Lost = LosingProtocol::Lost;

TEST_P(SillyRenameFaults, ARenameWithoutAReplyMayHaveHiddenTheName) {
  auto file = Open("d/file");
  protocol_->rename = Lost::kReply;
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), std::errc::timed_out);
  EXPECT_EQ(Hidden("d"), 1u);
  EXPECT_EQ(Listed("d"), std::set<std::string>{});
  EXPECT_EQ(StatError("d/file"), kNoEntry);
  EXPECT_EQ(Text(*file), "hello");
  file.reset();
  EXPECT_EQ(Hidden("d"), 0u);
}

TEST_P(SillyRenameFaults, ARenameWithoutAReplyMayNotHaveBeenMade) {
  auto file = Open("d/file");
  protocol_->rename = Lost::kRequest;
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), std::errc::timed_out);
  EXPECT_EQ(StatError("d/file"), kOk);
  EXPECT_EQ(Text(*file), "hello");
  file.reset();
  EXPECT_EQ(StatError("d/file"), kOk);
  file = Open("d/file");
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  EXPECT_EQ(Text(*file), "hello");
  file.reset();
  EXPECT_EQ(Hidden("d"), 0u);
}

TEST_P(SillyRenameFaults, UnremovedSillyNamesAreRemovedAtUnmount) {
  for (const bool shutdown : {true, false}) {
    SillyRenameFaults::SetUp();
    auto file = Open("d/file");
    EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
    protocol_->remove = Lost::kRequest;
    file.reset();
    EXPECT_EQ(Hidden("d"), 1u);
    EXPECT_EQ(Listed("d"), std::set<std::string>{});
    if (shutdown) client_->Shutdown();
    client_.reset();
    EXPECT_EQ(Hidden("d"), 0u);
  }
}

TEST_P(SillyRenameFaults, ARemovalThatWasMadeWithoutAReplyIsDone) {
  auto file = Open("d/file");
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  protocol_->remove = Lost::kReply;
  file.reset();
  EXPECT_EQ(Hidden("d"), 0u);
  client_.reset();
  EXPECT_EQ(Hidden("d"), 0u);
}

}  // namespace
}  // namespace nfswalk
