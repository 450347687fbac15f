// A file has one inode for as long as it is referenced (INODE-27), whatever name of it was removed
// here: its data, locks and link count are the same through a held node and through any of its
// names. Two clients of one server: names that the other has changed are stale here.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr std::errc kNoEntry = std::errc::no_such_file_or_directory;
constexpr uint32_t kReadWrite = kMayRead | kMayWrite;

class OneInode : public fixtures::MountedExport {
 protected:
  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("actimeo=600");
    other_ = Mount("noac");
    ASSERT_NE(client_, nullptr);
    ASSERT_NE(other_, nullptr);
    for (const char* name : {"d", "e"}) Expect(other_->MakeDirectory(Path(name), 0777, root_));
  }

  static void Expect(const auto& result) {
    EXPECT_EQ(result ? kOk : result.error(), kOk);
  }
  // By the other client, as those that follow.
  void Make(const std::string& name, const std::string& text) {
    Expect(other_->Create(Path(name), 0666, true, root_));
    auto file = other_->Open(Path(name), kReadWrite, root_);
    ASSERT_TRUE(file.has_value()) << name;
    EXPECT_EQ((*file)->PWrite(fixtures::BytesOf(text), 0), text.size());
    EXPECT_EQ((*file)->Close(), kOk);
  }
  void Move(const std::string& from, const std::string& to) {
    EXPECT_EQ(other_->Rename(Path(from), Path(to), root_), kOk);
  }
  void Link(const std::string& from, const std::string& to) {
    EXPECT_EQ(other_->Link(Path(from), Path(to), root_), kOk);
  }

  std::unique_ptr<Node> Hold(const std::string& name) {
    Expect(client_->Stat(Path(name), root_));
    auto node = client_->Resolve(Path(name), root_);
    Expect(node);
    return node ? std::move(*node) : nullptr;
  }
  // Expects that node and name are one file: the name has what is written through the node before
  // that is sent.
  void ExpectOneFile(const Node& node, const std::string& name, uint32_t links) {
    const auto found = client_->Stat(Path(name), root_);
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_EQ(found->nlink, links);
    auto by_name = client_->Open(Path(name), kReadWrite, root_);
    ASSERT_TRUE(by_name.has_value()) << "by its name";
    auto by_node = node.Open("", kReadWrite, root_);
    ASSERT_TRUE(by_node.has_value()) << "by the node: " << static_cast<int>(by_node.error());
    const std::string text = "written by the node";
    EXPECT_EQ((*by_node)->PWrite(fixtures::BytesOf(text), 0), text.size());
    EXPECT_EQ(fixtures::ReadPart(**by_name, 0, 100), text);
    EXPECT_EQ((*by_name)->attributes().size_bytes, text.size());
    EXPECT_EQ((*by_node)->TryLock(1, LockType::kWrite, 0, 1), kOk);
    EXPECT_EQ((*by_name)->TryLock(2, LockType::kWrite, 0, 1),
              std::errc::resource_unavailable_try_again);
    EXPECT_EQ((*by_node)->Close(), kOk);
    const auto resolved = client_->Resolve(Path(name), root_);
    ASSERT_TRUE(resolved.has_value());
    EXPECT_EQ((*resolved)->id(), node.id());
  }

  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> other_;
};

// How this client removes `d/p`.
struct Removal {
  const char* name;
  std::function<std::errc(Client&, const std::function<std::string(const char*)>&, Credential)> run;
  friend void PrintTo(const Removal& removal, std::ostream* out) { *out << removal.name; }
};

const Removal kRemovals[] = {
    {"Unlink", [](Client& c, const auto& at, Credential who) { return c.Unlink(at("d/p"), who); }},
    {"Rename",
     [](Client& c, const auto& at, Credential who) { return c.Rename(at("d/n"), at("d/p"), who); }},
    {"RenameBetweenDirectories",
     [](Client& c, const auto& at, Credential who) { return c.Rename(at("e/n"), at("d/p"), who); }},
};

class OneInodeAfter : public OneInode,
                      public testing::WithParamInterface<std::tuple<int, Removal>> {
 protected:
  int version() const override { return std::get<0>(GetParam()); }
  void SetUp() override {
    OneInode::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const char* name : {"d/p", "d/n", "e/n"}) Make(name, "old");
    node_ = Hold("d/p");
    ASSERT_NE(node_, nullptr);
  }
  void TearDown() override { node_ = nullptr; }
  void Remove() {
    const auto at = [this](const char* name) { return Path(name); };
    EXPECT_EQ(std::get<1>(GetParam()).run(*client_, at, root_), kOk);
  }

  std::unique_ptr<Node> node_;
};

INSTANTIATE_TEST_SUITE_P(Removals, OneInodeAfter,
                         testing::Combine(fixtures::AllVersions(), testing::ValuesIn(kRemovals)),
                         [](const auto& test) {
                           return fixtures::VersionName(std::get<0>(test.param)) +
                                  std::get<1>(test.param).name;
                         });

// The name leads to another file by now: that one goes, and the file lives elsewhere.
TEST_P(OneInodeAfter, AStaleNameIsRemoved) {
  Move("d/p", "e/z");
  Make("d/p", "new");
  Remove();
  ExpectOneFile(*node_, "e/z", 1);
  // Its link was seen: it does not count as removed any more.
  EXPECT_TRUE(client_->Stat(Path("e/z"), root_).has_value());
  EXPECT_TRUE(client_->Stat(Path("e/z"), root_, {.cached = true}).has_value());
}

// The name was the last that is known here, and not the last.
TEST_P(OneInodeAfter, OneOfTwoLinksIsRemoved) {
  Link("d/p", "e/z");
  Remove();
  ExpectOneFile(*node_, "e/z", 1);
}

// It was the last: the node is as gone as the file, and the name's next file is another one.
TEST_P(OneInodeAfter, TheLastLinkIsRemoved) {
  Remove();
  EXPECT_FALSE(node_->Open("", kMayRead, root_).has_value());
  if (const auto found = client_->Unlink(Path("d/p"), root_); found != kOk) {
    EXPECT_EQ(found, kNoEntry);
  }
  Expect(client_->Create(Path("d/p"), 0666, true, root_));
  const auto made = client_->Open(Path("d/p"), kMayRead, root_);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(fixtures::ReadPart(**made, 0, 100), "");
  const auto file = client_->Resolve(Path("d/p"), root_);
  ASSERT_TRUE(file.has_value());
  EXPECT_NE((*file)->id(), node_->id());
}

class OneInodeOf : public OneInode, public testing::WithParamInterface<int> {
 protected:
  int version() const override { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Versions, OneInodeOf, fixtures::AllVersions(), fixtures::VersionTestName);

// The close removes the hidden name (NAME-31), and the other client's link stays.
TEST_P(OneInodeOf, AnOpenFileThatOthersHaveLinkedIsRemoved) {
  Make("d/p", "old");
  auto open = client_->Open(Path("d/p"), kMayRead, root_);
  ASSERT_TRUE(open.has_value());
  Link("d/p", "e/z");
  ASSERT_EQ(client_->Unlink(Path("d/p"), root_), kOk);
  const auto linked = Hold("e/z");
  ASSERT_NE(linked, nullptr);
  EXPECT_EQ((*open)->Close(), kOk);
  open->reset();
  ExpectOneFile(*linked, "e/z", 1);
}

TEST_P(OneInodeOf, ADirectoryWhoseStaleNameIsRemoved) {
  Expect(other_->MakeDirectory(Path("d/p"), 0777, root_));
  const auto node = Hold("d/p");
  ASSERT_NE(node, nullptr);
  Move("d/p", "e/z");
  Expect(other_->MakeDirectory(Path("d/p"), 0777, root_));
  EXPECT_EQ(client_->RemoveDirectory(Path("d/p"), root_), kOk);
  const auto error_of = [&](const std::string& name) {
    const auto found = client_->Stat(Path(name), root_);
    return found ? kOk : found.error();
  };
  EXPECT_EQ(error_of("e/z/x"), kNoEntry);
  Expect(node->Create("x", 0666, true, root_));
  EXPECT_EQ(error_of("e/z/x"), kOk);
  const auto above = node->Stat("..", root_), parent = client_->Stat(Path("e"), root_);
  ASSERT_TRUE(above.has_value() && parent.has_value());
  EXPECT_EQ(above->fileid, parent->fileid);
}

TEST_P(OneInodeOf, ADirectoryThatIsRemovedIsGone) {
  Expect(other_->MakeDirectory(Path("d/p"), 0777, root_));
  const auto node = Hold("d/p");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(client_->RemoveDirectory(Path("d/p"), root_), kOk);
  EXPECT_FALSE(node->Create("x", 0666, true, root_).has_value());
  Expect(client_->MakeDirectory(Path("d/p"), 0777, root_));
  const auto again = Hold("d/p");
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again->id(), node->id());
}

}  // namespace
}  // namespace nfswalk
