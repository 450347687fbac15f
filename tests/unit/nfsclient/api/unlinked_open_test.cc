// Opens of a file that has no name any more, as its attributes say, while the server still answers
// for its handle: version 3, as Linux' server does for a file that it has open.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "tests/fixtures/fake_mount.h"

namespace nfswalk {
namespace {

class UnlinkedOpenTest : public FakeFile {
 protected:
  UnlinkedOpenTest() : FakeFile(3) {
    Mount();
    nfs3_.Put("g", {.mode = 0666, .data = "old", .lie = [this](protocol::ToldAttributes& told) {
                      if (is_unlinked_.load()) told.nlink = 0;
                    }});
    node_ = std::move(*client_->Resolve("g", kUser));
  }
  std::errc OpenError(ResolveFlags flags) {
    const auto file = node_->Open("", kMayRead, kUser, flags);
    return file ? kOk : file.error();
  }

  std::atomic<bool> is_unlinked_ = false;
  std::unique_ptr<Node> node_;
};

// NAME-5.
TEST_F(UnlinkedOpenTest, ItsNameIsStaleAndTheNodeIsNot) {
  for (const bool are_rights_cached : {true, false}) {
    SCOPED_TRACE(are_rights_cached);
    is_unlinked_ = false;
    if (!are_rights_cached) client_->DropCaches();
    EXPECT_EQ(OpenError({.as_named = true}), kOk);
    is_unlinked_ = true;
    EXPECT_EQ(OpenError({.as_named = true}), protocol::kStale);
    EXPECT_EQ(OpenError({}), kOk) << "as by a descriptor";
  }
}

// A server may be wrong about the number of names.
TEST_F(UnlinkedOpenTest, ANameThatTheServerKnowsIsOpened) {
  is_unlinked_ = true;
  EXPECT_TRUE(client_->Open("g", kMayRead, kUser).has_value());
  EXPECT_TRUE(client_->Open("g", kMayRead, kUser).has_value());
}

}  // namespace
}  // namespace nfswalk
