// Node::CreateAndOpen(), and opens of a node by any of its names, against a real server.

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

class CreateAndOpen : public fixtures::ExportClient {
 protected:
  void SetUp() override {
    ExportClient::SetUp();
    if (client_ == nullptr) return;
    MakeDirectory("d");
  }

  Result<OpenResult> Open(std::string_view name, uint32_t rights, uint32_t mode, bool exclusive) {
    return client_->CreateAndOpen(Path(name), rights, mode, exclusive, root_);
  }
  static size_t Put(File& file, std::string_view text) {
    return file.PWrite(std::as_bytes(std::span(text)), 0).value_or(0);
  }
  // Opens the node itself, and reads it; or minus the errno.
  std::string TextOf(const Node& node) {
    auto file = node.Open("", kMayRead, root_);
    return file ? Text(**file) : "-" + std::to_string(static_cast<int>(file.error()));
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, CreateAndOpen, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(CreateAndOpen, MakesTheFileAndItsNode) {
  for (const bool exclusive : {false, true}) {
    for (const uint32_t rights : {kMayRead, kMayWrite, kMayRead | kMayWrite}) {
      for (const uint32_t mode : {0u, 0400u, 0644u}) {
        SCOPED_TRACE(std::to_string(exclusive) + " " + std::to_string(rights) + " " +
                     std::to_string(mode));
        const std::string name =
            "d/" + std::to_string(exclusive) + std::to_string(rights * 01000 + mode);
        auto made = Open(name, rights, mode, exclusive);
        ASSERT_TRUE(made.has_value());
        EXPECT_EQ(made->found.attributes.mode, mode);
        struct stat found = {};
        ASSERT_EQ(stat(Backing(name).c_str(), &found), 0);
        EXPECT_EQ(found.st_mode & 07777, mode);
        ASSERT_NE(made->found.node, nullptr);
        EXPECT_EQ(made->found.node->id().fileid, found.st_ino);
        const bool writes = (rights & kMayWrite) != 0;
        EXPECT_EQ(Put(*made->file, "text"), writes ? 4u : 0u);
        if ((rights & kMayRead) == 0) continue;
        EXPECT_EQ(Text(*made->file), writes ? "text" : "");
      }
    }
  }
}

// The descriptor that made the file may write, although the mode does not allow its owner to.
TEST_P(CreateAndOpen, TheModeIsForLaterOpens) {
  const Credential user(1000, 1000);
  std::filesystem::permissions(Backing("d"), std::filesystem::perms::all);
  for (const bool exclusive : {false, true}) {
    const std::string name = Path(exclusive ? "d/exclusive" : "d/file");
    auto made = client_->CreateAndOpen(name, kMayWrite, 0444, exclusive, user);
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(Put(*made->file, "text"), 4u);
    EXPECT_EQ(client_->CreateAndOpen(name, kMayWrite, 0444, false, user).error(),
              std::errc::permission_denied);
  }
}

TEST_P(CreateAndOpen, OpensWhatExistsUnlessExclusive) {
  MakeFile("d/file", "hello");
  MakeLink("file", "d/link");
  MakeLink("later", "d/dangling");
  std::filesystem::permissions(Backing("d/file"), std::filesystem::perms(0640));
  for (const char* name : {"d/file", "d/link"}) {
    auto opened = Open(name, kMayRead, 0777, false);
    ASSERT_TRUE(opened.has_value()) << name;
    EXPECT_EQ(Text(*opened->file), "hello");
    EXPECT_EQ(opened->found.attributes.mode, 0640u);
    EXPECT_EQ(Open(name, kMayRead, 0777, true).error(), std::errc::file_exists);
  }
  EXPECT_TRUE(Open("d/dangling", kMayRead | kMayWrite, 0600, false).has_value());
  EXPECT_TRUE(std::filesystem::exists(Backing("d/later")));
  EXPECT_EQ(Open("d", kMayRead, 0600, false).error(), std::errc::is_a_directory);
  EXPECT_EQ(Open("d/new/", kMayRead, 0600, false).error(), std::errc::is_a_directory);
  EXPECT_EQ(Open("none/new", kMayRead, 0600, false).error(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(Open("d/new", 0, 0600, false).error(), std::errc::invalid_argument);
  EXPECT_EQ(Open("d/new", kMayExecute, 0600, false).error(), std::errc::invalid_argument);
  // Only the call that makes a file can give it its mode.
  EXPECT_EQ(Open("d/new", kMayWrite | kModeAtOnce, 0600, false).error(),
            std::errc::invalid_argument);
  EXPECT_EQ(client_->Open(Path("d/file"), kMayWrite | kModeAtOnce, root_).error(),
            std::errc::invalid_argument);
}

// The name is absent for this client: another one has made it meanwhile.
TEST_P(CreateAndOpen, OpensWhatAnotherClientHasJustMade) {
  for (const char* kind : {"file", "link", "directory"}) {
    const std::string name = std::string("d/") + kind;
    EXPECT_EQ(client_->Stat(Path(name), root_).error(), std::errc::no_such_file_or_directory);
    MakeFile("d/target", "theirs");
    if (kind == std::string("file")) MakeFile(name, "theirs");
    if (kind == std::string("link")) MakeLink("target", name);
    if (kind == std::string("directory")) MakeDirectory(name);
    auto opened = Open(name, kMayRead, 0600, false);
    if (kind == std::string("directory")) {
      EXPECT_EQ(opened.error(), std::errc::is_a_directory);
    } else {
      ASSERT_TRUE(opened.has_value()) << kind;
      EXPECT_EQ(Text(*opened->file), "theirs");
    }
  }
}

// A CREATE of version 3 answers as if it had made the file, and checks no rights to it.
TEST_P(CreateAndOpen, ExistingFileOfAnotherClientKeepsItsMode) {
  const Credential user(1000, 1000);
  std::filesystem::permissions(Backing("d"), std::filesystem::perms::all);
  for (const uint32_t mode : {0600u, 0640u, 0644u}) {
    for (const char* text : {"", "theirs"}) {
      for (const uint32_t rights : {kMayRead, kMayWrite, kMayRead | kMayWrite}) {
        const std::string name = "d/" + std::to_string(mode) + text + std::to_string(rights);
        EXPECT_EQ(client_->Stat(Path(name), user).error(), std::errc::no_such_file_or_directory);
        MakeFile(name, text);
        std::filesystem::permissions(Backing(name), std::filesystem::perms(mode));
        auto opened = client_->CreateAndOpen(Path(name), rights, 0640, false, user);
        SCOPED_TRACE(name);
        const bool may = mode == 0644 && rights == kMayRead;
        EXPECT_EQ(opened.has_value(), may);
        if (!opened) {
          EXPECT_EQ(opened.error(), std::errc::permission_denied);
        }
        struct stat found = {};
        ASSERT_EQ(stat(Backing(name).c_str(), &found), 0);
        EXPECT_EQ(found.st_mode & 07777, mode);
        EXPECT_EQ(found.st_size, static_cast<off_t>(strlen(text)));
      }
    }
  }
}

TEST_P(CreateAndOpen, TakesFewCalls) {
  ASSERT_TRUE(Open("d/first", kMayWrite, 0600, true).has_value());
  EXPECT_EQ(client_->Stat(Path("d/file"), root_).error(), std::errc::no_such_file_or_directory);
  const uint64_t before = client_->stats().rpcs;
  auto made = Open("d/file", kMayWrite, 0600, false);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(client_->stats().rpcs - before, 1u);  // CREATE or OPEN
  const uint64_t made_at = client_->stats().rpcs;
  EXPECT_TRUE(made->found.node->Stat("", root_).has_value());
  EXPECT_EQ(client_->stats().rpcs, made_at);
}

// ACCESS-14.
TEST_P(CreateAndOpen, AnOpenPaysNoCallForTheRightsOfItsFile) {
  const Credential who(1001, 1001);
  MakeFile("d/first");
  MakeFile("d/file", "hello");
  ASSERT_TRUE(client_->Stat(Path("d/file"), root_).has_value());
  ASSERT_TRUE(client_->Open(Path("d/first"), kMayRead, who).has_value());  // version 4: a client id
  const auto calls_of_open = [&] {
    const uint64_t before = client_->stats().rpcs;
    const auto file = client_->Open(Path("d/file"), kMayRead, who);
    EXPECT_TRUE(file.has_value());
    return client_->stats().rpcs - before;
  };
  EXPECT_EQ(calls_of_open(), 1u);  // OPEN; ACCESS
  EXPECT_EQ(calls_of_open(), 1u);  // OPEN; GETATTR
  const uint64_t before = client_->stats().rpcs;
  EXPECT_EQ(client_->Access(Path("d/file"), kMayRead, who), std::errc{});
  EXPECT_EQ(client_->stats().rpcs, before);
  ASSERT_EQ(chmod(Backing("d/file").c_str(), 0600), 0);
  EXPECT_EQ(client_->Open(Path("d/file"), kMayRead, who).error(), std::errc::permission_denied);
}

// NAME-8: the OPEN of version 4 looks the name up; what it finds there is as it was.
TEST_P(CreateAndOpen, ANameThatIsNotKnownIsNotLookedUpFirst) {
  MakeFile("d/theirs", "hello");
  MakeDirectory("d/directory");
  MakeLink("theirs", "d/link");
  ASSERT_TRUE(Open("d/first", kMayWrite, 0600, false).has_value());
  for (const char* name : {"d/new", "d/theirs"}) {
    const uint64_t before = client_->stats().rpcs;
    auto opened = Open(name, kMayRead | kMayWrite, 0600, false);
    ASSERT_TRUE(opened.has_value()) << name;
    // LOOKUP and CREATE, or LOOKUP, GETATTR and ACCESS; OPEN.
    const uint64_t most = version() == 4 ? 1 : name == std::string("d/new") ? 2 : 3;
    EXPECT_LE(client_->stats().rpcs - before, most) << name;
    EXPECT_EQ(Text(*opened->file), name == std::string("d/new") ? "" : "hello");
  }
  EXPECT_EQ(Open("d/directory", kMayRead, 0600, false).error(), std::errc::is_a_directory);
  auto opened = Open("d/link", kMayRead, 0600, false);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(Text(*opened->file), "hello");
}

TEST_P(CreateAndOpen, RemovedWhileOpenItIsHidden) {
  auto made = Open("d/file", kMayRead | kMayWrite, 0600, true);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(Put(*made->file, "text"), 4u);
  EXPECT_EQ(client_->Unlink(Path("d/file"), root_), kOk);
  EXPECT_EQ(Text(*made->file), "text");
  EXPECT_EQ(TextOf(*made->found.node), "text");  // by its hidden name
  made->file.reset();
  EXPECT_TRUE(std::filesystem::is_empty(Backing("d")));
  EXPECT_EQ(TextOf(*made->found.node), "-" + std::to_string(ESTALE));
}

// NAME-32.
TEST_P(CreateAndOpen, TruncatesAFileThatExists) {
  const auto open = [this](uint32_t rights) {
    return client_->Open(Path("d/file"), rights, root_);
  };
  const auto create = [this](uint32_t rights) -> Result<std::unique_ptr<File>> {
    auto made = Open("d/file", rights, 0644, false);
    if (!made) return std::unexpected(made.error());
    return std::move(made->file);
  };
  for (const std::function<Result<std::unique_ptr<File>>(uint32_t)>& call :
       {std::function<Result<std::unique_ptr<File>>(uint32_t)>(open), {create}}) {
    MakeFile("d/file", "hello");
    auto other = client_->Open(Path("d/file"), kMayWrite, root_);
    ASSERT_TRUE(other.has_value());
    EXPECT_EQ(Put(**other, "written before, and not sent"), 28u);
    EXPECT_EQ(call(kTruncate).error(), std::errc::invalid_argument);
    EXPECT_EQ(call(kMayRead | kTruncate).error(), std::errc::invalid_argument);
    auto file = call(kMayRead | kMayWrite | kTruncate);
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ((*other)->Close(), kOk);
    EXPECT_EQ(std::filesystem::file_size(Backing("d/file")), 0u);
    EXPECT_EQ((*file)->attributes().size_bytes, 0u);
    EXPECT_EQ(Put(**file, "new"), 3u);
    EXPECT_EQ(Text(**file), "new");
    EXPECT_EQ((*file)->Close(), kOk);
    EXPECT_EQ(std::filesystem::file_size(Backing("d/file")), 3u);
  }
  std::filesystem::permissions(Backing("d/file"), std::filesystem::perms(0444));
  client_->InvalidateCaches();
  EXPECT_EQ(client_->Open(Path("d/file"), kMayWrite | kTruncate, Credential(1, 1)).error(),
            std::errc::permission_denied);
  EXPECT_EQ(std::filesystem::file_size(Backing("d/file")), 3u);
}

// NAME-33.
TEST_P(CreateAndOpen, TellsWhetherAnotherClientChangedTheFile) {
  MakeFile("d/file", "hello");
  const auto is_unchanged = [this] {
    auto file = client_->Open(Path("d/file"), kMayRead | kMayWrite, root_);
    return file && (*file)->is_unchanged();
  };
  EXPECT_FALSE(is_unchanged());  // not opened before
  EXPECT_TRUE(is_unchanged());
  {
    auto file = client_->Open(Path("d/file"), kMayWrite, root_);
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(Put(**file, "our own change"), 14u);
    EXPECT_EQ((*file)->Close(), kOk);
  }
  // nfs-ganesha and Linux send no attributes of before a WRITE in version 3.
  EXPECT_EQ(is_unchanged(), version() == 4);
  MakeFile("d/file", "another client's");
  EXPECT_FALSE(is_unchanged());
  EXPECT_TRUE(is_unchanged());
  // One that has it open meanwhile.
  auto reader = client_->Open(Path("d/file"), kMayRead, root_);
  ASSERT_TRUE(reader.has_value());
  MakeFile("d/file", "another client's again");
  EXPECT_EQ(Text(**reader), "another client's");
  reader->reset();
  EXPECT_FALSE(is_unchanged());
  client_->DropCaches();
  EXPECT_FALSE(is_unchanged());
}

// NAME-29.
TEST_P(CreateAndOpen, ANodeIsOpenedByAnyOfItsNames) {
  MakeFile("d/a", "hello");
  std::filesystem::create_hard_link(Backing("d/a"), Backing("d/b"));
  auto node = client_->Resolve(Path("d/a"), root_);
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(TextOf(**node), "hello");
  // The name that it was resolved by is gone, and is another file's.
  ASSERT_TRUE(client_->Stat(Path("d/b"), root_).has_value());
  std::filesystem::remove(Backing("d/a"));
  EXPECT_EQ(TextOf(**node), "hello");
  MakeFile("d/a", "other");
  EXPECT_EQ(TextOf(**node), "hello");
  // Another client renames it: known once it was looked up.
  std::filesystem::rename(Backing("d/b"), Backing("d/c"));
  client_->InvalidateCaches();
  ASSERT_TRUE(client_->Stat(Path("d/c"), root_).has_value());
  EXPECT_EQ(TextOf(**node), "hello");
  std::filesystem::remove(Backing("d/c"));
  // A server of version 3 may know the handle as long as it has the file open itself.
  if (version() == 3) return;
  EXPECT_EQ(TextOf(**node), "-" + std::to_string(ESTALE));
}

}  // namespace
}  // namespace nfswalk
