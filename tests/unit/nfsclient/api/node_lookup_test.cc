// For how long Lookup() says that a name is valid while this client changes it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class NodeLookupDuringAChange : public MemoryMount {
 protected:
  void MountTree() {
    NewServer();
    const uint64_t d = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(d, "x", FileType::kRegular);
    Mount();
    Notice("d");
  }

  // Expects that a lookup, of which `meanwhile` is a part, gives its result no time.
  LookupResult LookUp(std::string_view path) {
    auto found = client_->Lookup(path, me_);
    EXPECT_TRUE(found.has_value());
    EXPECT_TRUE(reached_);
    if (!found) return {};
    EXPECT_EQ(found->name_valid_ns, 0u);
    return std::move(*found);
  }
};

// RCU-walk goes to the end of the path, and leaves the attributes to ref-walk.
TEST_F(NodeLookupDuringAChange, ANameThatIsRenamedBeforeItsAttributesComeIsNotValid) {
  options_.acregmin_s = options_.acregmax_s = 0;
  MountTree();
  Warm("d/x");
  const auto before = client_->Lookup("d/x", me_);
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(before->name_valid_ns, 0u);
  At("revalidate:after-getattr", 1, [&] { Rename("d/x", "d/y"); });
  EXPECT_NE(LookUp("d/x").node, nullptr);
}

TEST_F(NodeLookupDuringAChange, ANameThatIsRenamedAfterTheWalkIsNotValid) {
  options_.walk = WalkMode::kRef;
  MountTree();
  At("revalidate:name-left", 1, [&] { Rename("d/x", "d/y"); });
  EXPECT_NE(LookUp("d/x").node, nullptr);
}

TEST_F(NodeLookupDuringAChange, ANameThatIsMadeAfterTheWalkIsNotAbsent) {
  options_.walk = WalkMode::kRef;
  MountTree();
  At("revalidate:name-left", 1, [&] { (void)Make(FileType::kRegular, "d/new"); });
  EXPECT_EQ(LookUp("d/new").node, nullptr);
}

// Ref-walk has found the file; the next try finds that its name is absent.
TEST_F(NodeLookupDuringAChange, ANameThatIsRemovedBetweenTwoTriesIsAbsent) {
  options_.contract = WalkContract::kStrict;
  MountTree();
  At("revalidate:name-left", 1, [&] { Remove(FileType::kRegular, "d/x"); });
  const auto found = client_->Lookup("d/x", me_);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(reached_);
  EXPECT_EQ(found->node, nullptr);
}

}  // namespace
}  // namespace nfswalk
