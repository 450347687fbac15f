// Nodes against a real server: calls relative to an object that a path was resolved to.

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "rcu/sync_point.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

class NodeCalls : public fixtures::VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("actimeo=600");
    ASSERT_NE(client_, nullptr);
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

  std::unique_ptr<Client> client_;
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
  EXPECT_EQ(file->Open("", kMayRead, root_).error(), std::errc::no_such_file_or_directory);
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
