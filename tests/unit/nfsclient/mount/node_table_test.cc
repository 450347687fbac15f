#include "nfsclient/mount/node_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk::mount {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

class NodeTableTest : public MemoryMount {
 protected:
  void SetUp() override {
    for (const char* name : {"f", "g"}) server_->Add(kRoot, name, FileType::kRegular);
    server_->Add(kRoot, "d", FileType::kDirectory);
    Mount();
    table_ = std::make_unique<NodeTable>(Resolve("/"));
  }
  void TearDown() override { table_ = nullptr; }

  std::unique_ptr<Node> Resolve(const std::string& path) const {
    auto node = client_->Resolve(path, me_);
    EXPECT_TRUE(node.has_value()) << path;
    return node ? *std::move(node) : nullptr;
  }
  NodeTable::Known Remember(const std::string& path) { return table_->Remember(Resolve(path)); }
  NodeId IdOf(const std::string& path) const { return Resolve(path)->id(); }

  std::unique_ptr<NodeTable> table_;
};

TEST_F(NodeTableTest, ANodeIsKnownUntilAllItsLookupsAreForgotten) {
  EXPECT_EQ(table_->Find(IdOf("f")), 0U);
  const auto first = Remember("f"), again = Remember("f"), third = Remember("f");
  EXPECT_EQ(first.number, again.number);
  EXPECT_EQ(first.generation, third.generation);
  EXPECT_EQ(table_->At(first.number).id(), IdOf("f"));
  table_->Forget(first.number, 1);
  EXPECT_EQ(table_->Find(IdOf("f")), first.number);
  table_->Forget(first.number, 2);
  EXPECT_EQ(table_->Find(IdOf("f")), 0U);
}

TEST_F(NodeTableTest, NodesHaveNumbersOfTheirOwn) {
  const auto f = Remember("f"), g = Remember("g");
  EXPECT_NE(f.number, g.number);
  EXPECT_NE(f.number, kRootNumber);
  EXPECT_EQ(table_->At(g.number).id(), IdOf("g"));
  EXPECT_THAT(table_->All(), UnorderedElementsAre(IdOf("/"), IdOf("f"), IdOf("g")));
  table_->Forget(f.number, 1);
  EXPECT_EQ(table_->Find(IdOf("g")), g.number);
  EXPECT_THAT(table_->All(), UnorderedElementsAre(IdOf("/"), IdOf("g")));
}

TEST_F(NodeTableTest, TheRootIsNeverForgotten) {
  EXPECT_EQ(Remember("/").number, kRootNumber);
  table_->Forget(kRootNumber, 1);
  table_->Forget(kRootNumber, 1);
  EXPECT_EQ(table_->Find(IdOf("/")), kRootNumber);
  EXPECT_EQ(table_->At(kRootNumber).id(), IdOf("/"));
}

// The kernel tells a node that comes back from one that it still names by its number and
// generation.
TEST_F(NodeTableTest, NumberAndGenerationAreNeverUsedAgain) {
  std::set<std::pair<NodeNumber, uint64_t>> used;
  for (int i = 0; i < 1000; ++i) {
    const auto known = Remember(i % 2 == 0 ? "f" : "g");
    EXPECT_TRUE(used.emplace(known.number, known.generation).second) << i;
    table_->Forget(known.number, 1);
  }
}

// Files that the kernel has open keep a stale node; later opens get the node that replaces it.
TEST_F(NodeTableTest, AStaleNodeIsReplacedByOneThatIsNot) {
  const auto stale = Remember("f");
  table_->NoteName(stale.number, "name");
  client_->InvalidateCaches();
  server_->ConfuseNextGetattr(777);
  EXPECT_EQ(table_->At(stale.number).Stat("", me_).error(), protocol::kStale);
  EXPECT_TRUE(table_->At(stale.number).is_stale());
  const auto known = Remember("f"), again = Remember("f");
  EXPECT_NE(known.number, stale.number);
  EXPECT_NE(known.generation, stale.generation);
  EXPECT_EQ(again.number, known.number);
  EXPECT_FALSE(table_->At(known.number).is_stale());
  EXPECT_EQ(table_->Find(IdOf("f")), known.number);
  EXPECT_TRUE(table_->At(stale.number).is_stale());
  table_->Forget(stale.number, 1);
  EXPECT_EQ(table_->Find(IdOf("f")), known.number);
  table_->Forget(known.number, 2);
  EXPECT_EQ(table_->Find(IdOf("f")), 0U);
}

TEST_F(NodeTableTest, OneNameIsTakenWhetherItWasNotedOrNot) {
  table_->NoteName(kRootNumber, "f");
  table_->NoteName(kRootNumber, "d", IdOf("d"));
  const auto none = table_->TakeName(IdOf("/"), "none");
  EXPECT_EQ(none.directory, kRootNumber);
  EXPECT_THAT(none.names, UnorderedElementsAre("none"));
  EXPECT_TRUE(none.subdirectories.empty());
  const auto taken = table_->TakeName(IdOf("/"), "d");
  EXPECT_EQ(taken.subdirectories.at("d"), IdOf("d"));
  EXPECT_EQ(taken.node->id(), IdOf("/"));
  EXPECT_TRUE(table_->TakeName(IdOf("/"), "d").subdirectories.empty());
  EXPECT_THAT(table_->TakeNames(IdOf("/")).names, UnorderedElementsAre("f"));
  EXPECT_EQ(table_->TakeName(IdOf("f"), "a").directory, 0U) << "the kernel does not know it";
}

// An inode that is known is cached, whatever the limits of the caches.
TEST_F(NodeTableTest, AForgottenNodeIsLetGo) {
  const auto known = Remember("f");
  table_->Forget(known.number, 1);
  table_ = nullptr;
  ExpectNothingHeld();
}

TEST_F(NodeTableTest, NamesAreTakenOnce) {
  const auto d = Remember("d");
  table_->NoteName(d.number, "one");
  table_->NoteName(d.number, "two");
  table_->NoteName(d.number, "one");
  table_->NoteName(kRootNumber, "d");
  const auto taken = table_->TakeNames(IdOf("d"));
  EXPECT_EQ(taken.directory, d.number);
  EXPECT_THAT(taken.names, UnorderedElementsAre("one", "two"));
  EXPECT_EQ(table_->TakeNames(IdOf("d")).directory, d.number);
  EXPECT_THAT(table_->TakeNames(IdOf("d")).names, IsEmpty());
  const auto of_root = table_->TakeNames(IdOf("/"));
  EXPECT_EQ(of_root.directory, kRootNumber);
  EXPECT_THAT(of_root.names, UnorderedElementsAre("d"));
}

TEST_F(NodeTableTest, AnUnknownDirectoryHasNoNames) {
  EXPECT_EQ(table_->TakeNames(IdOf("d")).directory, 0U);
  const auto d = Remember("d");
  table_->NoteName(d.number, "one");
  table_->Forget(d.number, 1);
  EXPECT_EQ(table_->TakeNames(IdOf("d")).directory, 0U);
  Remember("d");
  EXPECT_THAT(table_->TakeNames(IdOf("d")).names, IsEmpty());
}

TEST_F(NodeTableTest, NamesAreBounded) {
  const auto d = Remember("d");
  table_->NoteName(kRootNumber, "d");
  for (size_t i = 1; i < NodeTable::kNamesMax; ++i) table_->NoteName(d.number, std::to_string(i));
  // One too many: all before it are forgotten.
  table_->NoteName(kRootNumber, "last");
  EXPECT_THAT(table_->TakeNames(IdOf("/")).names, UnorderedElementsAre("last"));
  EXPECT_THAT(table_->TakeNames(IdOf("d")).names, IsEmpty());
}

// Names that were taken, or went with their directory, make room.
TEST_F(NodeTableTest, NamesThatAreGoneDoNotCount) {
  const auto d = Remember("d");
  const auto fill = [&] {
    for (size_t i = 2; i < NodeTable::kNamesMax; ++i) table_->NoteName(d.number, std::to_string(i));
  };
  table_->NoteName(kRootNumber, "first");
  fill();
  EXPECT_EQ(table_->TakeNames(IdOf("d")).names.size(), NodeTable::kNamesMax - 2);
  fill();
  table_->NoteName(kRootNumber, "second");
  table_->Forget(d.number, 1);
  table_->NoteName(kRootNumber, "third");
  EXPECT_THAT(table_->TakeNames(IdOf("/")).names, UnorderedElementsAre("first", "second", "third"));
}

}  // namespace
}  // namespace nfswalk::mount
