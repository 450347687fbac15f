// What our own changes do to what we know of the directory (ATTR-11), as version 4 tells of them
// (RFC 7530 2.2.8).
#include <gtest/gtest.h>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

class ChangeInfo : public MemoryMount {
 protected:
  void MountWith(bool atomic) {
    NewServer();
    server_->AnswerChangeInfo(atomic);
    directory_ = server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(directory_, "sibling", FileType::kRegular);
    Mount();
    Look();
  }
  void Look() const {
    EXPECT_TRUE(IsFile(Stat("d/sibling")));
    EXPECT_EQ(Stat("d/missing"), kMissing);
  }
  void ChangeSomething() const {
    EXPECT_TRUE(client_->Create("d/own", 0644, true, me_).has_value());
    EXPECT_EQ(client_->Rename("d/own", "d/renamed", me_), std::errc{});
    EXPECT_EQ(client_->Unlink("d/renamed", me_), std::errc{});
  }

  uint64_t directory_ = 0;
};

// ATTR-11.
TEST_F(ChangeInfo, AnAtomicChangeOfOursCostsTheSiblingsNothing) {
  MountWith(true);
  ChangeSomething();
  EXPECT_EQ(Rpcs([&] { Look(); }), 0u);
}

// Somebody may have come in between: each name is asked for once more, rights and attributes not.
// ATTR-12.
TEST_F(ChangeInfo, AChangeThatIsNotAtomicCostsEachNameOneLookup) {
  MountWith(false);
  ChangeSomething();
  const size_t lookups = protocol_->Calls("LOOKUP");
  EXPECT_EQ(Rpcs([&] { Look(); }), 2u);
  EXPECT_EQ(protocol_->Calls("LOOKUP"), lookups + 2);
  EXPECT_EQ(Rpcs([&] { Look(); }), 0u);
}

// ATTR-12.
TEST_F(ChangeInfo, AChangeThatTheServerRefusesCostsNothing) {
  MountWith(false);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client_->MakeDirectory("d/sibling", 0755, me_).error(), std::errc::file_exists);
  }
  // The name that was asked for is looked up anew, and nothing else.
  EXPECT_EQ(Rpcs([&] { Look(); }), 1u);
}

TEST_F(ChangeInfo, AForeignChangeBeforeOursIsSeenEitherWay) {
  for (const bool atomic : {true, false}) {
    MountWith(atomic);
    server_->Add(directory_, "missing", FileType::kRegular);
    ChangeSomething();
    EXPECT_TRUE(IsFile(Stat("d/missing"))) << atomic;
  }
}

}  // namespace
}  // namespace nfswalk
