#include "sunrpc_auth/credential.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <vector>

namespace nfswalk::sunrpc_auth {
namespace {

std::vector<uint32_t> Numbers(uint32_t count) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < count; ++i) numbers.push_back(1000 + i);
  return numbers;
}

TEST(CredentialTest, EqualPartsAreEqualAndHashAlike) {
  const Credential a(1, 2, {3, 4}), b(1, 2, {3, 4});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(CredentialTest, EveryPartCounts) {
  const Credential one(1, 2, {3, 4});
  EXPECT_NE(one, Credential(9, 2, {3, 4}));
  EXPECT_NE(one, Credential(1, 9, {3, 4}));
  EXPECT_NE(one, Credential(1, 2, {3, 9}));
  EXPECT_NE(one, Credential(1, 2, {3}));
  EXPECT_NE(one, Credential(1, 2, {3, 4, 5}));
}

TEST(CredentialTest, GroupOrderCounts) {
  EXPECT_NE(Credential(1, 2, {3, 4}), Credential(1, 2, {4, 3}));
  EXPECT_NE(Credential(1, 2, {3, 4}).hash(), Credential(1, 2, {4, 3}).hash());
}

// CRED-1.
TEST(CredentialTest, GroupsBeyondTheSixteenthCount) {
  std::vector<uint32_t> groups = Numbers(20);
  const Credential a(1, 2, groups);
  groups[18] = 7;
  EXPECT_NE(a, Credential(1, 2, groups));
}

TEST(CredentialTest, AuthNoneIsNotRoot) {
  EXPECT_EQ(Credential().flavor(), Flavor::kNone);
  EXPECT_EQ(Credential(), Credential());
  EXPECT_NE(Credential(), Credential(0, 0));
}

TEST(CredentialTest, DenseUidsSpreadOverTheLowBitsOfTheHash) {
  constexpr uint32_t kUids = 1024;
  std::set<uint64_t> low_bits;
  for (uint32_t uid = 0; uid < kUids; ++uid) {
    low_bits.insert(Credential(uid, 100).hash() & (kUids - 1));
  }
  EXPECT_GT(low_bits.size(), kUids / 2);  // 63 % are expected of a random function
}

TEST(CredentialTest, OfProcessIsTheEffectiveOne) {
  const Credential self = Credential::OfProcess();
  EXPECT_EQ(self.flavor(), Flavor::kSys);
  EXPECT_EQ(self.uid(), geteuid());
  EXPECT_EQ(self.gid(), getegid());
  EXPECT_EQ(static_cast<int>(self.groups().size()), getgroups(0, nullptr));
}

}  // namespace
}  // namespace nfswalk::sunrpc_auth
