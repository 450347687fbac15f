// Nodes against a real server: calls relative to an object that a path was resolved to.

#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/sync_point.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

class NodeCalls : public fixtures::ExportClient {
 protected:
  void SetUp() override {
    ExportClient::SetUp();
    if (client_ == nullptr) return;
    MakeDirectory("top/sub/deep");
    MakeDirectory("outside");
    MakeFile("top/file", "hello");
    MakeFile("top/sub/leaf");
    MakeFile("outside/leaf");
    MakeLink("sub/leaf", "top/link");
    MakeLink("/", "top/absolute");
  }
  void TearDown() override { rcu::SyncPointScript::ClearAll(); }

  std::unique_ptr<Node> Resolve(std::string_view name, ResolveFlags flags = {}) {
    auto node = client_->Resolve(Path(name), root_, flags);
    EXPECT_TRUE(node.has_value()) << name;
    return node ? std::move(*node) : nullptr;
  }
  uint64_t Inode(std::string_view name) const {
    struct stat found = {};
    EXPECT_EQ(lstat(Backing(name).c_str(), &found), 0) << name;
    return found.st_ino;
  }
  // Returns the fileid, or minus an errno.
  int64_t StatOf(const Node& node, std::string_view path, ResolveFlags flags = {}) {
    auto attributes = node.Stat(path, root_, flags);
    return attributes ? static_cast<int64_t>(attributes->fileid)
                      : -static_cast<int64_t>(attributes.error());
  }
  int64_t InodeOf(std::string_view name) const { return static_cast<int64_t>(Inode(name)); }
};

INSTANTIATE_TEST_SUITE_P(Versions, NodeCalls, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(NodeCalls, EveryCallBeginsAtTheNode) {
  auto node = Resolve("top");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(StatOf(*node, ""), InodeOf("top"));
  EXPECT_EQ(StatOf(*node, "."), InodeOf("top"));
  EXPECT_EQ(StatOf(*node, "file"), InodeOf("top/file"));
  EXPECT_EQ(StatOf(*node, "link"), InodeOf("top/sub/leaf"));
  EXPECT_EQ(StatOf(*node, "link", {.no_follow = true}), InodeOf("top/link"));
  EXPECT_EQ(StatOf(*node, "missing"), -ENOENT);
  EXPECT_EQ(node->Access("file", kMayRead, root_), std::errc{});
  std::array<char, 64> text;
  auto length = node->ReadLink("link", text, root_);
  ASSERT_TRUE(length.has_value());
  EXPECT_EQ(std::string(text.data(), *length), "sub/leaf");
  std::set<std::string> names;
  EXPECT_EQ(node->ReadDir("", root_, [&](auto& entry) { return names.insert(entry.name).second; }),
            std::errc{});
  EXPECT_EQ(names, (std::set<std::string>{"absolute", "file", "link", "sub"}));
  auto file = node->Open("file", kMayRead, root_);
  ASSERT_TRUE(file.has_value());
  std::array<std::byte, 16> data;
  EXPECT_EQ((*file)->PRead(data, 0), 5u);
  auto below = node->Resolve("sub", root_);
  ASSERT_TRUE(below.has_value());
  EXPECT_EQ(StatOf(**below, "leaf"), InodeOf("top/sub/leaf"));
}

TEST_P(NodeCalls, AnEmptyPathIsTheNodeItself) {
  auto file = Resolve("top/file");
  auto link = Resolve("top/link", {.no_follow = true});
  ASSERT_NE(file, nullptr);
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(StatOf(*file, ""), InodeOf("top/file"));
  EXPECT_EQ(StatOf(*file, "", {.beneath = true}), InodeOf("top/file"));
  EXPECT_EQ(StatOf(*file, "x"), -ENOTDIR);
  EXPECT_EQ(StatOf(*file, "/", {.in_root = true}), -ENOTDIR);
  EXPECT_EQ(StatOf(*file, "/" + Path("top")), InodeOf("top"));
  EXPECT_EQ(link->Open("", kMayRead, root_).error(), std::errc::too_many_symbolic_link_levels);
  EXPECT_EQ(StatOf(*link, ""), InodeOf("top/link"));
  std::array<char, 64> text;
  EXPECT_EQ(link->ReadLink("", text, root_), 8u);
  EXPECT_EQ(client_->Resolve(Path("missing"), root_).error(), std::errc::no_such_file_or_directory);
}

TEST_P(NodeCalls, OnlyScopedCallsStayBelowTheNode) {
  auto node = Resolve("top");
  ASSERT_NE(node, nullptr);
  for (int warm = 0; warm < 2; ++warm) {
    EXPECT_EQ(StatOf(*node, ".."), InodeOf(""));
    EXPECT_EQ(StatOf(*node, "../outside/leaf"), InodeOf("outside/leaf"));
    EXPECT_EQ(StatOf(*node, "/" + Path("outside")), InodeOf("outside"));
    EXPECT_EQ(StatOf(*node, "absolute/" + Path("outside")), InodeOf("outside"));

    const ResolveFlags beneath{.beneath = true};
    EXPECT_EQ(StatOf(*node, "sub/../file", beneath), InodeOf("top/file"));
    EXPECT_EQ(StatOf(*node, "..", beneath), -EXDEV);
    EXPECT_EQ(StatOf(*node, "sub/../..", beneath), -EXDEV);
    EXPECT_EQ(StatOf(*node, "/" + Path("top"), beneath), -EXDEV);
    EXPECT_EQ(StatOf(*node, "absolute", beneath), -EXDEV);

    const ResolveFlags in_root{.in_root = true};
    EXPECT_EQ(StatOf(*node, "..", in_root), InodeOf("top"));
    EXPECT_EQ(StatOf(*node, "sub/../../../sub", in_root), InodeOf("top/sub"));
    EXPECT_EQ(StatOf(*node, "/file", in_root), InodeOf("top/file"));
    EXPECT_EQ(StatOf(*node, "absolute/sub/leaf", in_root), InodeOf("top/sub/leaf"));
    EXPECT_EQ(StatOf(*node, "x", {.beneath = true, .in_root = true}), -EINVAL);
  }
}

TEST_P(NodeCalls, WarmCallsAreRcuWalksWithoutRpcs) {
  auto node = Resolve("top");
  ASSERT_NE(node, nullptr);
  const auto all = [&] {
    EXPECT_EQ(StatOf(*node, ""), InodeOf("top"));
    EXPECT_EQ(StatOf(*node, "sub/leaf"), InodeOf("top/sub/leaf"));
    EXPECT_EQ(StatOf(*node, "sub/../link", {.beneath = true}), InodeOf("top/sub/leaf"));
    EXPECT_EQ(node->Access("file", kMayRead, root_), std::errc{});
    EXPECT_TRUE(node->Resolve("sub", root_, {.cached = true}).has_value());
  };
  (void)node->Stat("link", root_, {.beneath = true});
  EXPECT_EQ(StatOf(*node, "sub/leaf"), InodeOf("top/sub/leaf"));
  EXPECT_EQ(StatOf(*node, "sub"), InodeOf("top/sub"));
  EXPECT_EQ(node->Access("file", kMayRead, root_), std::errc{});
  const Stats before = client_->stats();
  all();
  const Stats after = client_->stats();
  EXPECT_EQ(after.rpcs, before.rpcs);
  EXPECT_EQ(after.rcu_walks - before.rcu_walks, 5u);
  EXPECT_EQ(after.ref_walks, before.ref_walks);
}

// Prefixes in the path cache are relative to the export's root: the same text from another node is
// another prefix.
TEST_P(NodeCalls, TheSameRelativePathFromTwoNodesIsTwoPaths) {
  MakeDirectory("a/same/way");
  MakeDirectory("b/same/way");
  MakeDirectory("same/way");
  MakeFile("a/same/way/x");
  MakeFile("b/same/way/x");
  MakeFile("same/way/x");
  auto a = Resolve("a"), b = Resolve("b"), here = Resolve("");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(StatOf(*a, "same/way/x"), InodeOf("a/same/way/x"));
    EXPECT_EQ(StatOf(*b, "same/way/x"), InodeOf("b/same/way/x"));
    EXPECT_EQ(StatOf(*here, "same/way/x"), InodeOf("same/way/x"));
    EXPECT_EQ(client_->Stat("same/way/x", root_).error(), std::errc::no_such_file_or_directory);
  }
}

TEST_P(NodeCalls, ANodeFollowsItsDirectoryThroughRenameAndDropCaches) {
  auto node = Resolve("top");
  ASSERT_NE(node, nullptr);
  const int64_t leaf = InodeOf("top/sub/leaf");
  ASSERT_EQ(client_->Rename(Path("top"), Path("outside/moved"), root_), std::errc{});
  EXPECT_EQ(StatOf(*node, "sub/leaf"), leaf);
  EXPECT_EQ(StatOf(*node, ".."), InodeOf("outside"));
  client_->DropCaches();
  EXPECT_EQ(StatOf(*node, "sub/leaf"), leaf);
  // A foreign rename, which no reply has shown.
  std::filesystem::rename(Backing("outside/moved"), Backing("again"));
  client_->InvalidateCaches();
  EXPECT_EQ(StatOf(*node, "sub/leaf"), leaf);
  EXPECT_EQ(client_->Stat(Path("again/sub/leaf"), root_)->fileid, static_cast<uint64_t>(leaf));
  EXPECT_EQ(StatOf(*node, ".."), InodeOf(""));
}

TEST_P(NodeCalls, ANodeWhoseFileIsGoneIsStale) {
  auto directory = Resolve("top/sub/deep");
  auto file = Resolve("top/file");
  auto ours = Resolve("top/sub/leaf");
  auto ours_directory = Resolve("outside");
  ASSERT_EQ(client_->Unlink(Path("top/sub/leaf"), root_), std::errc{});
  EXPECT_EQ(StatOf(*ours, ""), -ESTALE);
  ASSERT_EQ(client_->Unlink(Path("outside/leaf"), root_), std::errc{});
  ASSERT_EQ(client_->RemoveDirectory(Path("outside"), root_), std::errc{});
  EXPECT_EQ(StatOf(*ours_directory, ""), -ESTALE);
  EXPECT_EQ(StatOf(*ours_directory, "x"), -ESTALE);

  ASSERT_TRUE(std::filesystem::remove(Backing("top/sub/deep")));
  ASSERT_TRUE(std::filesystem::remove(Backing("top/file")));
  client_->InvalidateCaches();
  EXPECT_EQ(StatOf(*directory, ""), -ESTALE);
  EXPECT_EQ(StatOf(*directory, "x"), -ESTALE);
  EXPECT_EQ(directory->ReadDir("", root_, [](auto&) { return true; }), protocol::kStale);
  EXPECT_EQ(StatOf(*file, ""), -ESTALE);
  // The name is used again, for another file than the node's.
  MakeFile("top/file");
  EXPECT_EQ(StatOf(*file, ""), -ESTALE);
}

TEST_P(NodeCalls, EveryChangeBeginsAtTheNode) {
  auto top = Resolve("top"), outside = Resolve("outside");
  ASSERT_TRUE(top && outside);
  EXPECT_EQ(top->Create("new", 0640, true, root_)->attributes.mode, 0640u);
  EXPECT_EQ(top->MakeDirectory("made", 0750, root_)->attributes.type, FileType::kDirectory);
  EXPECT_EQ(top->MakeSymlink("new", "made/l", root_)->attributes.type, FileType::kSymlink);
  EXPECT_EQ(top->MakeNode("pipe", FileType::kFifo, 0600, {}, root_)->attributes.type,
            FileType::kFifo);
  EXPECT_EQ(
      top->MakeNode("null", FileType::kCharacterDevice, 0600, {1, 3}, root_)->attributes.rdev_minor,
      3u);
  EXPECT_EQ(top->SetAttributesOf("new", {.size_bytes = 7}, root_)->size_bytes, 7u);
  EXPECT_EQ(top->Link("new", *outside, "linked", root_), std::errc{});
  EXPECT_EQ(InodeOf("outside/linked"), InodeOf("top/new"));
  EXPECT_EQ(top->Rename("sub/leaf", *outside, "moved", root_), std::errc{});
  EXPECT_EQ(StatOf(*outside, "moved"), InodeOf("outside/moved"));
  EXPECT_EQ(outside->Unlink("moved", root_), std::errc{});
  EXPECT_EQ(StatOf(*outside, "moved"), -ENOENT);
  EXPECT_EQ(top->Unlink("made/l", root_), std::errc{});
  EXPECT_EQ(top->RemoveDirectory("made", root_), std::errc{});
  EXPECT_FALSE(std::filesystem::exists(Backing("top/made")));
  // Out of the node, as from a working directory, but for a scoped call.
  EXPECT_EQ(top->Create("../outside/new", 0600, true, root_)->attributes.size_bytes, 0u);
  EXPECT_EQ(top->Unlink("/" + Path("outside/new"), root_), std::errc{});
  EXPECT_EQ(
      top->SetAttributesOf("../outside/linked", {.mode = 0}, root_, {.beneath = true}).error(),
      std::errc::cross_device_link);
}

TEST_P(NodeCalls, ANodeIsOpenedByTheNameThatItHasNow) {
  const std::string long_name(200, 'n');
  auto file = Resolve("top/file");
  ASSERT_NE(file, nullptr);
  const auto read = [&]() -> std::string {
    auto opened = file->Open("", kMayRead, root_);
    if (!opened) return std::make_error_condition(opened.error()).message();
    std::array<char, 16> data;
    const auto count = (*opened)->PRead(std::as_writable_bytes(std::span(data)), 0);
    return std::string(data.data(), count.value_or(0));
  };
  EXPECT_EQ(read(), "hello");
  for (const std::string& name : {std::string("outside/x"), "top/" + long_name}) {
    ASSERT_EQ(
        client_->Rename(Path(name == "outside/x" ? "top/file" : "outside/x"), Path(name), root_),
        std::errc{});
    EXPECT_EQ(read(), "hello") << name;
  }
  // Another client's rename leaves version 4.0 without a name; its file is not opened in this one's
  // place.
  std::filesystem::rename(Backing("top/" + long_name), Backing("top/elsewhere"));
  MakeFile("top/" + long_name, "another");
  const bool is_by_name = version() == 4 && client_->server().minor_version == 0u;
  EXPECT_EQ(read(), is_by_name ? "Stale file handle" : "hello");
}

TEST_P(NodeCalls, ANodeHasNoNameToChange) {
  constexpr std::errc kNoName = std::errc::no_such_file_or_directory;
  auto top = Resolve("top"), file = Resolve("top/file");
  ASSERT_TRUE(top && file);
  EXPECT_EQ(top->Create("", 0600, true, root_).error(), kNoName);
  EXPECT_EQ(top->Create("", 0600, false, root_).error(), kNoName);
  EXPECT_EQ(top->MakeDirectory("", 0700, root_).error(), kNoName);
  EXPECT_EQ(top->MakeSymlink("x", "", root_).error(), kNoName);
  EXPECT_EQ(top->MakeNode("", FileType::kFifo, 0600, {}, root_).error(), kNoName);
  EXPECT_EQ(top->Link("file", *top, "", root_), kNoName);
  EXPECT_EQ(top->Rename("", *top, "x", root_), kNoName);
  EXPECT_EQ(top->Rename("file", *top, "", root_), kNoName);
  EXPECT_EQ(top->Unlink("", root_), kNoName);
  EXPECT_EQ(top->RemoveDirectory("", root_), kNoName);
  EXPECT_EQ(file->Create("x", 0600, true, root_).error(), std::errc::not_a_directory);
  EXPECT_EQ(file->Unlink("x", root_), std::errc::not_a_directory);
  for (const FileType type : {FileType::kRegular, FileType::kDirectory, FileType::kSymlink}) {
    EXPECT_EQ(top->MakeNode("n", type, 0600, {}, root_).error(), std::errc::invalid_argument);
  }
  auto other = Mount("actimeo=600");
  auto elsewhere = other->Resolve(Path("top"), root_);
  EXPECT_EQ(top->Rename("file", **elsewhere, "x", root_), std::errc::cross_device_link);
  EXPECT_EQ(top->Link("file", **elsewhere, "x", root_), std::errc::cross_device_link);
  // Its attributes and, for a file, another name are no matter of the name that it had.
  EXPECT_EQ(file->SetAttributesOf("", {.size_bytes = 2}, root_)->size_bytes, 2u);
  EXPECT_EQ(file->Link("", *top, "again", root_), std::errc{});
  EXPECT_EQ(InodeOf("top/again"), InodeOf("top/file"));
}

TEST_P(NodeCalls, TheSpaceIsThatOfTheServersFileSystem) {
  struct statvfs wanted = {};
  ASSERT_EQ(statvfs(Backing("top").c_str(), &wanted), 0);
  auto top = Resolve("top");
  for (const auto& space : {top->GetSpace("", root_), client_->GetSpace(Path("top/link"), root_)}) {
    ASSERT_TRUE(space.has_value());
    EXPECT_EQ(space->total_bytes, wanted.f_blocks * wanted.f_frsize);
    EXPECT_EQ(space->total_files, wanted.f_files);
    EXPECT_LE(space->available_bytes, space->free_bytes);
    EXPECT_LE(space->free_bytes, space->total_bytes);
    EXPECT_GT(space->available_bytes, 0u);
    EXPECT_LE(space->available_files, space->free_files);
    EXPECT_GT(space->free_files, 0u);
  }
  EXPECT_EQ(top->GetSpace("missing", root_).error(), std::errc::no_such_file_or_directory);
}

// Calls of all kinds on a hard mount, of a server that hangs from then on.
class HungServer : public NodeCalls {
 protected:
  void SetUp() override {
    NodeCalls::SetUp();
    if (client_ == nullptr) return;
    client_ = Mount("actimeo=600&hard");
    node_ = Resolve("top");
    ASSERT_TRUE(node_ && client_->Stat(Path("top/file"), root_));
    auto directory = node_->OpenDirectory("sub", root_);
    auto file = node_->Open("file", kMayRead | kMayWrite, root_);
    ASSERT_TRUE(directory && file);
    directory_ = std::move(*directory);
    file_ = std::move(*file);
    server().Hang();
  }
  void TearDown() override {
    if (file_ != nullptr) server().Resume();
    NodeCalls::TearDown();
  }
  static std::errc ErrorOf(const auto& result) { return result ? std::errc{} : result.error(); }

  const std::vector<std::function<std::errc()>> calls_ = {
      [&] { return ErrorOf(client_->Stat(Path("outside/leaf"), root_)); },
      [&] { return ErrorOf(node_->Create("new", 0600, true, root_)); },
      [&] { return node_->Rename("file", *node_, "moved", root_); },
      [&] { return ErrorOf(node_->GetSpace("", root_)); },
      [&] { return node_->ReadDir("", root_, [](const auto&) { return true; }); },
      [&] { return directory_->Read(0, [](const auto&) { return true; }); },
      [&] { return ErrorOf(file_->PRead(bytes_, 0)); },
      [&] {
        const auto written = file_->PWrite(bytes_, 0);  // not over bytes that are in flight
        return written ? file_->Sync() : written.error();
      },
  };
  std::array<std::byte, 8> bytes_{};
  std::unique_ptr<Node> node_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<File> file_;
};

INSTANTIATE_TEST_SUITE_P(Versions, HungServer, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(HungServer, ADeadlineEndsCallsOnAHardMount) {
  {
    using std::chrono::milliseconds;
    const Deadline deadline(Deadline::Clock::now() + milliseconds(100));
    const Deadline later(Deadline::Clock::now() + std::chrono::hours(1));
    // The signal may take effect after the next answer.
    while (ErrorOf(file_->PRead(bytes_, 0)) == std::errc{}) {
    }
    EXPECT_TRUE(client_->Stat(Path("top/file"), root_, {.cached = true})) << "is cached";
    for (size_t i = 0; i < calls_.size(); ++i) {
      EXPECT_EQ(calls_[i](), std::errc::timed_out) << i;
    }
  }
  server().Resume();
  EXPECT_TRUE(client_->Stat(Path("outside/leaf"), root_));
  // Data that the server did not take is kept.
  EXPECT_EQ(file_->Sync(), std::errc{});
  EXPECT_EQ(file_->PRead(bytes_, 0), bytes_.size());
}

// WIRE-21.
TEST_P(HungServer, AnotherThreadCancelsACallOnAHardMount) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    Cancellation cancellation;
    const CancelScope scope(cancellation);
    // All at once: one of them receives for all, the others sleep.
    std::thread second([&] {
      const CancelScope its(cancellation);
      EXPECT_EQ(ErrorOf(client_->GetSpace(Path("outside"), root_)), std::errc::operation_canceled);
    });
    const uint64_t before = client_->stats().rpcs;
    std::jthread canceler([&] {
      while (client_->stats().rpcs == before) std::this_thread::yield();
      cancellation.Cancel();
    });
    std::errc error{};
    do error = calls_[i]();  // the signal may take effect after the next answer
    while (error == std::errc{});
    EXPECT_EQ(error, std::errc::operation_canceled) << i;
    second.join();
    EXPECT_EQ(calls_[i](), std::errc::operation_canceled) << i << ": for good";
    if (i == 0) {  // before changes of which the outcome is unknown
      EXPECT_TRUE(client_->Stat(Path("top/file"), root_, {.cached = true})) << "is cached";
    }
  }
  server().Resume();
  EXPECT_TRUE(client_->Stat(Path("outside/leaf"), root_));
  EXPECT_TRUE(file_->PRead(bytes_, 0)) << "the file stays open";
}

// Names by their cookies, and a directory that is read in steps of any size.
class OpenDirectories : public NodeCalls {
 protected:
  static constexpr int kEntries = 700;  // several replies
  void SetUp() override {
    NodeCalls::SetUp();
    if (IsSkipped()) return;
    MakeDirectory("many");
    for (int i = 0; i < kEntries; ++i) MakeFile("many/" + std::to_string(i));
  }
  std::unique_ptr<Directory> Open() {
    auto opened = client_->OpenDirectory(Path("many"), root_);
    EXPECT_TRUE(opened.has_value());
    return opened ? std::move(*opened) : nullptr;
  }
  // Reads on after `cookie`, at most `count` entries; adds them to `names`. The cookie of the last.
  static uint64_t ReadSome(Directory& directory, uint64_t cookie, int count,
                           std::multiset<std::string>& names) {
    EXPECT_EQ(directory.Read(cookie,
                             [&](const DirectoryEntry& entry) {
                               names.insert(entry.name);
                               cookie = entry.cookie;
                               return --count > 0;
                             }),
              std::errc{});
    return cookie;
  }
  static void ExpectEachOnce(const std::multiset<std::string>& names) {
    EXPECT_EQ(names.size(), static_cast<size_t>(kEntries));
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(),
              static_cast<size_t>(kEntries));
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, OpenDirectories, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(OpenDirectories, StepsOfAnySizeShowEachEntryOnce) {
  for (const int step : {1, 7, 10 * kEntries}) {
    auto directory = Open();
    ASSERT_NE(directory, nullptr);
    std::multiset<std::string> names;
    const uint64_t rpcs = client_->stats().rpcs;
    uint64_t cookie = 0;
    for (size_t before = 1; names.size() != before;) {
      before = names.size();
      cookie = ReadSome(*directory, cookie, step, names);
    }
    ExpectEachOnce(names);
    EXPECT_LE(client_->stats().rpcs - rpcs, 5u) << "a step costs no RPC";
  }
}

TEST_P(OpenDirectories, ALaterReaderGoesOnWhereAnEarlierOneStopped) {
  std::multiset<std::string> names;
  uint64_t cookie = 0;
  for (int readers = 0; readers < 4; ++readers) {  // each with a listing of its own
    auto directory = Open();
    ASSERT_NE(directory, nullptr);
    std::multiset<std::string> seen;
    (void)ReadSome(*directory, 0, 1, seen);
    cookie = ReadSome(*directory, cookie, readers == 3 ? kEntries : kEntries / 4, names);
  }
  ExpectEachOnce(names);
}

TEST_P(OpenDirectories, EntriesThatStayAreShownOnceWhileOthersComeAndGo) {
  auto directory = Open();
  ASSERT_NE(directory, nullptr);
  std::multiset<std::string> names;
  uint64_t cookie = ReadSome(*directory, 0, kEntries / 2, names);
  for (int i = 0; i < 100; ++i) {
    MakeFile("many/later" + std::to_string(i));
    const std::string name = "many/" + std::to_string(i);
    EXPECT_EQ(client_->Unlink(Path(name), root_), std::errc{});
  }
  (void)ReadSome(*directory, cookie, 10 * kEntries, names);
  for (int i = 100; i < kEntries; ++i) {
    EXPECT_EQ(names.count(std::to_string(i)), 1u) << i;
  }
  // From the beginning it is read anew.
  names.clear();
  (void)ReadSome(*directory, 0, 10 * kEntries, names);
  EXPECT_EQ(names.size(), static_cast<size_t>(kEntries));
  EXPECT_EQ(names.count("later99"), 1u);
  EXPECT_EQ(names.count("99"), 0u);
}

TEST_P(OpenDirectories, AnEntryJustShownIsResolvedWithoutAnRpc) {
  auto node = Resolve("many");
  ASSERT_EQ(node->Access("", kMayRead | kMayExecute, root_), std::errc{});
  const uint64_t rpcs = client_->stats().rpcs;
  auto directory = node->OpenDirectory("", root_);
  ASSERT_TRUE(directory.has_value());
  int resolved = 0;
  EXPECT_EQ((*directory)
                ->Read(0,
                       [&](const DirectoryEntry& entry) {
                         auto child = node->Resolve(entry.name, root_, {.cached = true});
                         EXPECT_TRUE(child.has_value()) << entry.name;
                         return ++resolved < 50;
                       }),
            std::errc{});
  EXPECT_EQ(client_->stats().rpcs - rpcs, 1u);  // the open's, which brings the listing (NAME-5)
}

TEST_P(OpenDirectories, FilesAndUnreadableDirectoriesAreRefused) {
  EXPECT_EQ(client_->OpenDirectory(Path("top/file"), root_).error(), std::errc::not_a_directory);
  EXPECT_EQ(client_->OpenDirectory(Path("missing"), root_).error(),
            std::errc::no_such_file_or_directory);
  std::filesystem::permissions(Backing("many"), std::filesystem::perms::owner_all);
  EXPECT_EQ(client_->OpenDirectory(Path("many"), Credential(1000, 1000)).error(),
            std::errc::permission_denied);
  auto directory = client_->OpenDirectory(Path("outside"), root_);
  ASSERT_TRUE(directory.has_value());
  std::filesystem::remove_all(Backing("outside"));
  EXPECT_EQ((*directory)->Read(0, [](const auto&) { return true; }), protocol::kStale);
  auto listed = Open();
  client_->Shutdown();
  EXPECT_EQ(listed->Read(0, [](const auto&) { return true; }), std::errc::operation_canceled);
}

// top/sub leaves top while the walk is in top/sub/deep: from there `..` no longer leads to the
// node. WALK-13.
TEST_P(NodeCalls, ARenameDoesNotLetAScopedWalkEscape) {
#ifdef NDEBUG
  GTEST_SKIP() << "needs the sync points of a debug build";
#endif
  struct Moment {
    const char* mode;
    const char* where;
    int reached;  // passages of `where` until the first `..`
  };
  for (auto [mode, where, reached] :
       {Moment{"ref", "parent:before-check", 1}, Moment{"rcu-search", "walk:next-component", 3}}) {
    for (bool in_root : {false, true}) {
      auto client = Mount("actimeo=600&walk=" + std::string(mode));
      ASSERT_NE(client, nullptr);
      auto node = client->Resolve(Path("top"), root_);
      ASSERT_TRUE(node.has_value());
      ASSERT_EQ(StatOf(**node, "sub/deep"), InodeOf("top/sub/deep"));
      ASSERT_EQ(StatOf(**node, "sub/deep/../../.."), InodeOf(""));
      ASSERT_EQ(client->Stat(Path("outside"), root_)->fileid, Inode("outside"));
      bool moved = false;
      int left = reached;
      rcu::SyncPointScript::OnReach(where, [&] {
        if (--left > 0) return;
        rcu::SyncPointScript::ClearAll();
        std::thread([&] {
          moved = client->Rename(Path("top/sub"), Path("outside/sub"), root_) == std::errc{};
        }).join();
      });
      const ResolveFlags scoped{.beneath = !in_root, .in_root = in_root};
      const int64_t found = StatOf(**node, "sub/deep/../../leaf", scoped);
      EXPECT_TRUE(moved);
      // Ref-walk finds the directory gone; a rename during ref-walk itself gives EAGAIN.
      EXPECT_EQ(found, std::string(mode) == "ref" ? -EAGAIN : -ENOENT) << mode << in_root;
      ASSERT_EQ(client->Rename(Path("outside/sub"), Path("top/sub"), root_), std::errc{});
    }
  }
}

}  // namespace
}  // namespace nfswalk
