#include "sunrpc_auth/credential.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <vector>

namespace nfswalk::sunrpc_auth {
namespace {

// CRED-1: groups beyond the sixteenth count, and their order.
TEST(CredentialTest, EveryPartCounts) {
  std::vector<uint32_t> twenty(20, 7), other_nineteenth = twenty;
  other_nineteenth[18] = 8;
  const std::vector<Credential> all = {Credential(),
                                       Credential(0, 0),  // AUTH_NONE is not root
                                       Credential(1, 2, {3, 4}),
                                       Credential(9, 2, {3, 4}),
                                       Credential(1, 9, {3, 4}),
                                       Credential(1, 2, {3, 9}),
                                       Credential(1, 2, {4, 3}),
                                       Credential(1, 2, {3}),
                                       Credential(1, 2, {3, 4, 5}),
                                       Credential(1, 2, twenty),
                                       Credential(1, 2, other_nineteenth)};
  for (const Credential& one : all) {
    for (const Credential& other : all) {
      EXPECT_EQ(one == other, &one == &other);
      EXPECT_EQ(one.hash() == other.hash(), &one == &other);
    }
  }
  EXPECT_EQ(Credential(1, 2, {3, 4}), Credential(1, 2, {3, 4}));
  EXPECT_EQ(Credential(1, 2, {3, 4}).hash(), Credential(1, 2, {3, 4}).hash());
  EXPECT_EQ(Credential().flavor(), Flavor::kNone);
}

TEST(CredentialTest, DenseUidsSpreadOverTheLowBitsOfTheHash) {
  constexpr uint32_t kUids = 1024;
  std::set<uint64_t> low_bits;
  for (uint32_t uid = 0; uid < kUids; ++uid) {
    low_bits.insert(Credential(uid, 100).hash() & (kUids - 1));
  }
  EXPECT_GT(low_bits.size(), kUids / 2);  // 63 % are expected of a random function
}

TEST(CredentialTest, ProcessCredentialHasTheEffectiveIds) {
  const Credential self = Credential::OfProcess();
  EXPECT_EQ(self.flavor(), Flavor::kSys);
  EXPECT_EQ(self.uid(), geteuid());
  EXPECT_EQ(self.gid(), getegid());
  EXPECT_EQ(static_cast<int>(self.groups().size()), getgroups(0, nullptr));
}

}  // namespace
}  // namespace nfswalk::sunrpc_auth
