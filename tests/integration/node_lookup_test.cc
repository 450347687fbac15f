// Node::Lookup() and Node::id() against a real server: what a caller with caches of its own needs
// (NAME-28).

#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class NodeLookup : public fixtures::VersionedExport {
 protected:
  void MountAt(std::string_view options) {
    at_.reset();
    client_ = Mount(options);
    ASSERT_NE(client_, nullptr);
    auto at = client_->Resolve(Path(""), root_);
    ASSERT_TRUE(at.has_value());
    at_ = std::move(*at);
  }
  uint64_t Inode(std::string_view name) const {
    struct stat found = {};
    EXPECT_EQ(lstat(Backing(name).c_str(), &found), 0) << name;
    return found.st_ino;
  }
  NodeId IdOf(std::string_view name) const {
    auto found = at_->Lookup(name, root_);
    return found && found->node ? found->node->id() : NodeId();
  }

  std::unique_ptr<Client> client_;
  std::unique_ptr<Node> at_;
};

INSTANTIATE_TEST_SUITE_P(Versions, NodeLookup, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(NodeLookup, AnswersNodeAttributesAndForHowLong) {
  MakeFile("file", "hello");
  MakeLink("file", "link");
  MakeDirectory("directory");
  MountAt("actimeo=600");
  ASSERT_NE(at_, nullptr);
  for (const char* name : {"file", "link", "directory", "directory/../file", "./file"}) {
    for (bool warm : {false, true}) {
      SCOPED_TRACE(std::string(name) + (warm ? " warm" : " cold"));
      const Stats before = client_->stats();
      auto found = at_->Lookup(name, root_, {.cached = warm});
      ASSERT_TRUE(found.has_value());
      ASSERT_NE(found->node, nullptr);
      EXPECT_EQ(found->attributes.fileid, Inode(name));
      EXPECT_EQ(found->node->Stat("", root_)->fileid, Inode(name));
      EXPECT_GT(found->name_valid_ns, 500 * kSecondNs);
      EXPECT_LE(found->name_valid_ns, 600 * kSecondNs);
      EXPECT_GT(found->attributes_valid_ns, 500 * kSecondNs);
      EXPECT_LE(found->attributes_valid_ns, 600 * kSecondNs);
      if (!warm) continue;
      EXPECT_EQ(client_->stats().rpcs, before.rpcs);
      EXPECT_EQ(client_->stats().ref_walks, before.ref_walks);
    }
  }
  for (const char* path : {"", ".", "directory/..", "directory/"}) {
    auto found = at_->Lookup(path, root_);
    ASSERT_TRUE(found.has_value()) << path;
    EXPECT_NE(found->node, nullptr) << path;
    EXPECT_EQ(found->name_valid_ns, 0u) << path;
    EXPECT_GT(found->attributes_valid_ns, 0u) << path;
  }
}

TEST_P(NodeLookup, AnAbsentNameIsAnAnswerWithAValidity) {
  MakeDirectory("directory");
  MountAt("actimeo=600");
  ASSERT_NE(at_, nullptr);
  for (bool warm : {false, true}) {
    auto found = at_->Lookup("directory/none", root_, {.cached = warm});
    ASSERT_TRUE(found.has_value()) << warm;
    EXPECT_EQ(found->node, nullptr);
    EXPECT_GT(found->name_valid_ns, 500 * kSecondNs);
    EXPECT_EQ(found->attributes_valid_ns, 0u);
  }
  // Not of one before the last, nor where a directory is asked for.
  EXPECT_EQ(at_->Lookup("none/x", root_).error(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(at_->Lookup("none/", root_).error(), std::errc::no_such_file_or_directory);
  MakeFile("directory/none");
  client_->InvalidateCaches();
  EXPECT_NE(at_->Lookup("directory/none", root_)->node, nullptr);
}

TEST_P(NodeLookup, NothingHoldsThatTheMountDoesNotTrust) {
  MakeFile("file");
  struct Row {
    const char* options;
    bool name, absent, attributes;
  };
  for (const Row& row :
       {Row{"actimeo=600", true, true, true}, Row{"actimeo=600&lookupcache=pos", true, false, true},
        Row{"actimeo=600&lookupcache=none", false, false, true}, Row{"noac", false, false, false},
        Row{"actimeo=600&walk=ref", true, true, true},
        Row{"acdirmin=0&acdirmax=0", false, false, true},
        Row{"acregmin=0&acregmax=0&acdirmin=600&acdirmax=600", true, true, false}}) {
    SCOPED_TRACE(row.options);
    MountAt(row.options);
    ASSERT_NE(at_, nullptr);
    for (int turn = 0; turn < 2; ++turn) {
      const auto file = at_->Lookup("file", root_);
      ASSERT_TRUE(file.has_value() && file->node != nullptr);
      EXPECT_EQ(file->name_valid_ns != 0, row.name);
      EXPECT_EQ(file->attributes_valid_ns != 0, row.attributes);
      const auto absent = at_->Lookup("none", root_);
      ASSERT_TRUE(absent.has_value() && absent->node == nullptr);
      EXPECT_EQ(absent->name_valid_ns != 0, row.absent);
    }
  }
}

TEST_P(NodeLookup, AnIdIsTheFiles) {
  MakeFile("a");
  MakeFile("other");
  MakeDirectory("d");
  std::filesystem::create_hard_link(Backing("a"), Backing("d/b"));
  MountAt("actimeo=600");
  ASSERT_NE(at_, nullptr);
  const NodeId id = IdOf("a");
  EXPECT_EQ(id.fileid, Inode("a"));
  EXPECT_EQ(IdOf("d/b"), id);
  EXPECT_NE(IdOf("other"), id);
  EXPECT_NE(IdOf("d"), id);
  ASSERT_EQ(client_->Rename(Path("a"), Path("d/c"), root_), std::errc{});
  EXPECT_EQ(IdOf("d/c"), id);
  client_->DropCaches();
  EXPECT_EQ(IdOf("d/c"), id);
  const auto second = Mount("actimeo=600");
  EXPECT_EQ((*second->Resolve(Path("d/b"), root_))->id(), id);
  EXPECT_EQ(std::hash<NodeId>()(IdOf("d/b")), std::hash<NodeId>()(id));
}

TEST_P(NodeLookup, AnEntryJustListedIsLookedUpWithoutAnRpc) {
  MakeDirectory("d");
  for (int i = 0; i < 40; ++i) MakeFile("d/f" + std::to_string(i));
  MountAt("actimeo=600");
  ASSERT_NE(at_, nullptr);
  auto directory = client_->OpenDirectory(Path("d"), root_);
  ASSERT_TRUE(directory.has_value());
  std::set<NodeId> ids;
  uint64_t rpcs = 0;
  ASSERT_EQ((*directory)
                ->Read(0,
                       [&](const DirectoryEntry& entry) {
                         if (rpcs == 0) rpcs = client_->stats().rpcs;
                         auto found = (*directory)->Lookup(entry.name);
                         EXPECT_TRUE(found && found->node);
                         EXPECT_EQ(found->attributes.fileid, entry.fileid);
                         EXPECT_GT(found->name_valid_ns, 0u);
                         ids.insert(found->node->id());
                         return true;
                       }),
            std::errc{});
  EXPECT_EQ(ids.size(), 40u);
  EXPECT_LE(client_->stats().rpcs, rpcs + 1);  // the end of the listing
}

TEST_P(NodeLookup, RenameKnowsNoFlags) {
  MakeFile("a");
  MountAt("actimeo=600");
  ASSERT_NE(at_, nullptr);
  for (const uint32_t flags : {1u, 2u, 4u, 1u << 31}) {
    EXPECT_EQ(client_->Rename(Path("a"), Path("b"), root_, flags), std::errc::invalid_argument);
  }
  EXPECT_TRUE(std::filesystem::exists(Backing("a")));
  EXPECT_EQ(client_->Rename(Path("a"), Path("b"), root_, 0), std::errc{});
}

}  // namespace
}  // namespace nfswalk
