// Changes by this client, against a real server: made there, visible here, and siblings stay valid.

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::VersionedExport;

class Change : public VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("actimeo=600");
    ASSERT_NE(client_, nullptr);
  }

  bool Exists(std::string_view name) { return client_->Stat(Path(name), root_).has_value(); }
  std::errc StatError(std::string_view name) {
    auto attributes = client_->Stat(Path(name), root_);
    return attributes ? std::errc{} : attributes.error();
  }
  uint64_t Rpcs() { return client_->stats().rpcs; }

  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Versions, Change, fixtures::AllVersions(), fixtures::VersionTestName);

// ATTR-11.
TEST_P(Change, OwnChangesKeepTheSiblingsValid) {
  constexpr int kSiblings = 50;
  for (int i = 0; i < kSiblings; ++i) MakeFile("sibling" + std::to_string(i));
  auto look = [&] {
    for (int i = 0; i < kSiblings; ++i) EXPECT_TRUE(Exists("sibling" + std::to_string(i)));
    EXPECT_FALSE(Exists("never"));
  };
  // nfs-ganesha 4.3 sends no pre-operation attributes with MKDIR: that change counts as foreign.
  ASSERT_TRUE(client_->MakeDirectory(Path("dir"), 0755, root_).has_value());
  look();
  uint64_t before = Rpcs();
  ASSERT_TRUE(client_->Create(Path("new"), 0644, true, root_).has_value());
  ASSERT_TRUE(client_->MakeSymlink("new", Path("link"), root_).has_value());
  ASSERT_EQ(client_->Rename(Path("new"), Path("newer"), root_), std::errc{});
  ASSERT_EQ(client_->Unlink(Path("link"), root_), std::errc{});
  ASSERT_EQ(client_->RemoveDirectory(Path("dir"), root_), std::errc{});
  uint64_t after = Rpcs();
  // One each, CREATE's SETATTR (nfs3/create.cc), and a lookup of the target of the rename. Version
  // 4 besides: SETCLIENTID, SETCLIENTID_CONFIRM, OPEN_CONFIRM and CLOSE.
  EXPECT_LE(after - before, 5u + 2u + (version() == 3 ? 0u : 4u));
  // If change_info4 is not atomic, names are revalidated; cached rights are not.
  const bool valid = version() == 3 || server().properties().atomic_change_info;
  look();
  if (valid) {
    EXPECT_EQ(Rpcs(), after);
  } else {
    EXPECT_GT(Rpcs(), after);
    EXPECT_LT(Rpcs(), after + kSiblings) << "by a listing (ATTR-18)";
  }
}

TEST_P(Change, AChangeByAnotherClientBeforeAnOwnOneInvalidatesTheSiblings) {
  MakeFile("sibling");
  EXPECT_TRUE(Exists("sibling"));
  EXPECT_FALSE(Exists("foreign"));
  MakeFile("foreign");
  // The reply's pre-operation attributes differ from the cached ones: another client made a change.
  ASSERT_TRUE(client_->Create(Path("own"), 0644, true, root_).has_value());
  EXPECT_TRUE(Exists("foreign"));
}

// NAME-18.
TEST_P(Change, CreatedNamesArePositiveAndRemovedOnesNegative) {
  ASSERT_TRUE(client_->Create(Path("file"), 0600, true, root_).has_value());
  uint64_t before = Rpcs();
  EXPECT_TRUE(Exists("file"));
  EXPECT_EQ(Rpcs(), before);
  ASSERT_EQ(client_->Unlink(Path("file"), root_), std::errc{});
  before = Rpcs();
  EXPECT_EQ(StatError("file"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(Rpcs(), before);
  EXPECT_FALSE(std::filesystem::exists(Backing("file")));
}

TEST_P(Change, RenamingADirectoryKeepsItsChildren) {
  MakeDirectory("old/inner");
  MakeFile("old/inner/file");
  EXPECT_TRUE(Exists("old/inner/file"));
  ASSERT_EQ(client_->Rename(Path("old"), Path("new"), root_), std::errc{});
  EXPECT_EQ(StatError("old/inner/file"), std::errc::no_such_file_or_directory);
  EXPECT_TRUE(Exists("new"));
  uint64_t before = Rpcs();
  EXPECT_TRUE(Exists("new/inner/file"));
  // The renamed directory's ctime changed: its rights and names are revalidated once. Directories
  // below are not.
  EXPECT_LE(Rpcs() - before, 2u);
}

TEST_P(Change, RenameReplacesItsTarget) {
  MakeFile("a", "aaa");
  MakeFile("b", "b");
  EXPECT_TRUE(Exists("a"));
  EXPECT_TRUE(Exists("b"));
  ASSERT_EQ(client_->Rename(Path("a"), Path("b"), root_), std::errc{});
  EXPECT_FALSE(Exists("a"));
  EXPECT_EQ(client_->Stat(Path("b"), root_)->size_bytes, 3u);
}

TEST_P(Change, RenamingOneOfTwoLinksOntoTheOtherChangesNothing) {
  MakeFile("one");
  std::filesystem::create_hard_link(Backing("one"), Backing("two"));
  EXPECT_TRUE(Exists("one"));
  EXPECT_TRUE(Exists("two"));
  ASSERT_EQ(client_->Rename(Path("one"), Path("two"), root_), std::errc{});
  EXPECT_EQ(Exists("one"), std::filesystem::exists(Backing("one")));
  EXPECT_EQ(Exists("two"), std::filesystem::exists(Backing("two")));
}

TEST_P(Change, LinkAndUnlinkUpdateNlink) {
  MakeFile("file");
  EXPECT_EQ(client_->Stat(Path("file"), root_)->nlink, 1u);
  ASSERT_EQ(client_->Link(Path("file"), Path("link"), root_), std::errc{});
  EXPECT_EQ(client_->Stat(Path("file"), root_)->nlink, 2u);
  EXPECT_EQ(client_->Stat(Path("link"), root_)->fileid, client_->Stat(Path("file"), root_)->fileid);
  ASSERT_EQ(client_->Unlink(Path("file"), root_), std::errc{});
  EXPECT_EQ(client_->Stat(Path("link"), root_)->nlink, 1u);
}

// The removed names have never been looked up. ATTR-16.
TEST_P(Change, RemovingAnUncachedNameUpdatesNlink) {
  for (const char* name : {"file", "other"}) MakeFile(name);
  for (const char* name : {"removed", "replaced"}) {
    std::filesystem::create_hard_link(Backing("file"), Backing(name));
  }
  EXPECT_EQ(client_->Stat(Path("file"), root_)->nlink, 3u);
  ASSERT_EQ(client_->Unlink(Path("removed"), root_), std::errc{});
  EXPECT_EQ(client_->Stat(Path("file"), root_)->nlink, 2u);
  ASSERT_EQ(client_->Rename(Path("other"), Path("replaced"), root_), std::errc{});
  EXPECT_EQ(client_->Stat(Path("file"), root_)->nlink, 1u);
}

TEST_P(Change, SetattrUpdatesAttributesAndDropsCachedRights) {
  MakeFile("file", "12345");
  chmod(Backing("file").c_str(), 0644);
  const Credential other(1001, 1001);
  EXPECT_EQ(client_->Access(Path("file"), kMayRead, other), std::errc{});
  auto changed = client_->SetAttributesOf(Path("file"), {.mode = 0600, .size_bytes = 2}, root_);
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->mode, 0600u);
  EXPECT_EQ(client_->Stat(Path("file"), root_)->size_bytes, 2u);
  EXPECT_EQ(client_->Access(Path("file"), kMayRead, other), std::errc::permission_denied);
}

TEST_P(Change, ExclusiveCreateOfAnExistingNameIsEEXIST) {
  MakeFile("file");
  MakeDirectory("dir");
  MakeLink("file", "link");
  MakeLink("nowhere", "dangling");
  for (const char* name : {"file", "dir", "link", "dangling"}) {
    const auto made = client_->Create(Path(name), 0644, true, root_);
    ASSERT_FALSE(made.has_value()) << name;
    EXPECT_EQ(made.error(), std::errc::file_exists) << name;
  }
}

// WALK-11.
TEST_P(Change, RefusalsHaveTheErrnoOfTheSystemCall) {
  MakeFile("file");
  MakeDirectory("dir/inner");
  auto error = [](const auto& result) { return result ? std::errc{} : result.error(); };
  EXPECT_EQ(error(client_->Create(Path("file"), 0644, true, root_)), std::errc::file_exists);
  EXPECT_EQ(error(client_->Create(Path("file"), 0644, false, root_)), std::errc{});
  EXPECT_EQ(error(client_->MakeDirectory(Path("dir"), 0755, root_)), std::errc::file_exists);
  EXPECT_EQ(error(client_->MakeDirectory(Path("."), 0755, root_)), std::errc::file_exists);
  EXPECT_EQ(error(client_->MakeDirectory(Path("none/x"), 0755, root_)),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(error(client_->MakeSymlink("", Path("l"), root_)),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(client_->RemoveDirectory(Path("dir"), root_), std::errc::directory_not_empty);
  EXPECT_EQ(client_->RemoveDirectory(Path("file"), root_), std::errc::not_a_directory);
  EXPECT_EQ(client_->RemoveDirectory(Path("dir/."), root_), std::errc::invalid_argument);
  EXPECT_EQ(client_->Unlink(Path("none"), root_), std::errc::no_such_file_or_directory);
  EXPECT_EQ(client_->Rename(Path("none"), Path("x"), root_), std::errc::no_such_file_or_directory);
  EXPECT_EQ(client_->Rename(Path("dir"), Path("dir/inner/x"), root_), std::errc::invalid_argument);
  EXPECT_EQ(client_->Link(Path("dir"), Path("x"), root_), std::errc::operation_not_permitted);
}

// NAME-20.
TEST_P(Change, ListingPrimesTheCaches) {
  std::set<std::string> expected;
  constexpr int kFiles = 3000;
  MakeDirectory("list");
  for (int i = 0; i < kFiles; ++i) {
    expected.insert("file" + std::to_string(i));
    MakeFile("list/file" + std::to_string(i));
  }
  std::multiset<std::string> seen;
  ASSERT_EQ(client_->ReadDir(Path("list"), root_,
                             [&](const DirectoryEntry& entry) {
                               seen.insert(entry.name);
                               return true;
                             }),
            std::errc{});
  EXPECT_EQ(seen, std::multiset<std::string>(expected.begin(), expected.end()));
  EXPECT_EQ(client_->Access(Path("list"), kMayExecute, root_), std::errc{});
  uint64_t before = Rpcs();
  for (const auto& name : expected) EXPECT_TRUE(Exists("list/" + name));
  EXPECT_EQ(Rpcs(), before);
}

TEST_P(Change, DataIsReadAndWritten) {
  ASSERT_TRUE(client_->Create(Path("file"), 0644, true, root_).has_value());
  auto file = client_->Open(Path("file"), kMayRead | kMayWrite, root_);
  ASSERT_TRUE(file.has_value());
  std::vector<std::byte> data(3'000'000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  EXPECT_EQ((*file)->PWrite(data, 10).value_or(0), data.size());
  EXPECT_EQ((*file)->Sync(), std::errc{});
  std::vector<std::byte> back(8 * data.size());
  const uint64_t before = Rpcs();
  EXPECT_EQ((*file)->PRead(back, 10).value_or(0), data.size());
  // A megabyte each, and none behind the end.
  EXPECT_EQ(Rpcs() - before, 3u);
  back.resize(data.size());
  EXPECT_EQ(back, data);
  EXPECT_EQ(client_->Stat(Path("file"), root_)->size_bytes, data.size() + 10);
  auto reader = client_->Open(Path("file"), kMayRead, root_);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ((*reader)->PWrite(data, 0).error(), std::errc::bad_file_descriptor);
  EXPECT_EQ(client_->Open(Path(""), kMayRead, root_).error(), std::errc::is_a_directory);
}

// NAME-23.
TEST_P(Change, ChangesOfManyThreadsInOneDirectoryLeaveItAsItIs) {
  constexpr int kThreads = 8, kTurns = 20;
  const auto name = [](int thread, int turn, const char* what) {
    return std::string(what) + std::to_string(thread) + "-" + std::to_string(turn);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTurns; ++i) {
        const std::string first = name(t, i, "first"), last = name(t, i, "last");
        EXPECT_TRUE(client_->Create(Path(first), 0644, true, root_).has_value());
        EXPECT_TRUE(Exists(first));
        EXPECT_EQ(client_->Rename(Path(first), Path(last), root_), std::errc{});
        EXPECT_EQ(StatError(first), std::errc::no_such_file_or_directory);
        EXPECT_TRUE(Exists(last));
        EXPECT_EQ(client_->Link(Path(last), Path(name(t, i, "link")), root_), std::errc{});
        if (i % 2 == 0) {
          EXPECT_EQ(client_->Unlink(Path(last), root_), std::errc{});
        }
        EXPECT_EQ(Exists(last), i % 2 != 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kTurns; ++i) {
      for (const char* what : {"first", "last", "link"}) {
        const std::string path = name(t, i, what);
        EXPECT_EQ(Exists(path), std::filesystem::exists(Backing(path))) << path;
      }
    }
  }
}

TEST_P(Change, AppendsOfThreadsDoNotOverlap) {
  constexpr int kThreads = 4, kRecords = 25;
  constexpr size_t kBytes = 100;
  ASSERT_TRUE(client_->Create(Path("log"), 0644, true, root_).has_value());
  std::vector<std::unique_ptr<File>> files;
  for (int t = 0; t < kThreads; ++t) {
    auto file = client_->Open(Path("log"), kMayWrite, root_);
    ASSERT_TRUE(file.has_value());
    files.push_back(std::move(*file));
  }
  // Another client has written, which no reply of this one has shown.
  std::ofstream(Backing("log")) << std::string(kBytes, 'z');
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<std::byte> record(kBytes, static_cast<std::byte>('a' + t));
      for (int i = 0; i < kRecords; ++i) EXPECT_EQ(files[t]->Append(record).value_or(0), kBytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  files.clear();
  std::ifstream log(Backing("log"));
  std::map<char, int> records;
  for (std::string record(kBytes, 0); log.read(record.data(), kBytes);) {
    EXPECT_EQ(record, std::string(kBytes, record[0]));
    ++records[record[0]];
  }
  EXPECT_EQ(records.size(), kThreads + 1u);
  EXPECT_EQ(records['z'], 1);
  for (int t = 0; t < kThreads; ++t) EXPECT_EQ(records[static_cast<char>('a' + t)], kRecords);
}

TEST_P(Change, AnOpenFileIsChangedWhateverItsName) {
  ASSERT_TRUE(client_->Create(Path("file"), 0644, true, root_).has_value());
  auto file = client_->Open(Path("file"), kMayRead | kMayWrite, root_);
  auto reader = client_->Open(Path("file"), kMayRead, root_);
  ASSERT_TRUE(file && reader);
  std::filesystem::rename(Backing("file"), Backing("elsewhere"));
  EXPECT_EQ((*file)->SetAttributesOf({.mode = 0600, .size_bytes = 5000})->size_bytes, 5000u);
  EXPECT_EQ(std::filesystem::file_size(Backing("elsewhere")), 5000u);
  EXPECT_EQ((*reader)->SetAttributesOf({.mode = 0640})->mode, 0640u);
  EXPECT_EQ((*reader)->SetAttributesOf({.size_bytes = 0}).error(), std::errc::invalid_argument);
  EXPECT_EQ((*file)->SetAttributesOf({.size_bytes = kFileBytesMax + 1}).error(),
            std::errc::invalid_argument);
  const std::array<std::byte, 1> byte{};
  EXPECT_EQ((*reader)->Append(byte).error(), std::errc::bad_file_descriptor);
  client_->Shutdown();
  EXPECT_EQ((*file)->SetAttributesOf({.mode = 0600}).error(), std::errc::operation_canceled);
  EXPECT_EQ((*file)->Append(byte).error(), std::errc::operation_canceled);
}

}  // namespace
}  // namespace nfswalk
