// Values of "system.posix_acl_access": which bytes are an ACL, and what it says.
#include "nfsclient/protocol/posix_acl.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nfswalk::protocol {
namespace {

using Ace = PosixAce;

constexpr Ace kOwner{Ace::kUserObj, 7}, kGroup{Ace::kGroupObj, 5}, kOther{Ace::kOther, 4},
    kMask{Ace::kMask, 6}, kAnn{Ace::kUser, 6, 1000}, kBob{Ace::kUser, 3, 1001},
    kStaff{Ace::kGroup, 2, 50};

TEST(PosixAclTest, TheOrderAndTheNumberOfEntriesMakeOne) {
  const std::pair<PosixAcl, bool> rows[] = {
      {{kOwner, kGroup, kOther}, true},
      {{kOwner, kGroup, kMask, kOther}, true},
      {{kOwner, kAnn, kGroup, kMask, kOther}, true},
      {{kOwner, kAnn, kBob, kGroup, kStaff, kMask, kOther}, true},
      {{}, false},
      {{kGroup, kOther}, false},
      {{kOwner, kOther}, false},
      {{kOwner, kGroup}, false},
      {{kOwner, kOwner, kGroup, kOther}, false},
      {{kOwner, kGroup, kGroup, kOther}, false},
      {{kOwner, kGroup, kOther, kMask}, false},
      {{kOwner, kAnn, kGroup, kOther}, false},  // without a mask
      {{kOwner, kGroup, kStaff, kOther}, false},
      {{kOwner, kBob, kAnn, kGroup, kMask, kOther}, false},
      {{kOwner, kAnn, kAnn, kGroup, kMask, kOther}, false},
      {{kOwner, {Ace::kUser, 6}, kGroup, kMask, kOther}, false},  // of no user
      {{kOwner, {Ace::kGroupObj, 8}, kOther}, false},
      {{kOwner, kGroup, {0x03, 1}, kOther}, false},
      {{kOwner, kGroup, kOther, {0x40, 1}}, false},
  };
  int row = 0;
  for (const auto& [acl, is_valid] : rows) {
    SCOPED_TRACE(row++);
    EXPECT_EQ(IsValid(acl), is_valid);
    const auto read = ReadPosixAcl(PosixAclValue(acl));
    EXPECT_EQ(read, is_valid || acl.empty() ? std::optional(acl) : std::nullopt);
  }
}

TEST(PosixAclTest, ValuesAreThoseOfTheKernel) {
  const std::string value(
      "\2\0\0\0\1\0\7\0\xff\xff\xff\xff\2\0\6\0\xe8\3\0\0\4\0\5\0\xff\xff\xff\xff"
      "\x10\0\6\0\xff\xff\xff\xff\x20\0\4\0\xff\xff\xff\xff",
      44);
  const PosixAcl acl{kOwner, kAnn, kGroup, kMask, kOther};
  EXPECT_EQ(PosixAclValue(acl), value);
  EXPECT_EQ(ReadPosixAcl(value), acl);
  for (size_t size = 0; size < value.size(); ++size) {
    const bool has_none = size == 4;  // no entries
    EXPECT_EQ(ReadPosixAcl(value.substr(0, size)).has_value(), has_none) << size;
  }
  std::string other_version = value;
  other_version[0] = 1;
  EXPECT_FALSE(ReadPosixAcl(other_version).has_value());
}

TEST(PosixAclTest, SomeSayWhatAModeSays) {
  EXPECT_EQ(PosixAclOf(01754), (PosixAcl{kOwner, kGroup, kOther}));
  EXPECT_TRUE(IsAsMode(PosixAclOf(0)));
  EXPECT_FALSE(IsAsMode({kOwner, kGroup, kMask, kOther}));
  EXPECT_FALSE(IsAsMode({}));
  EXPECT_EQ(ClassModeOf(PosixAclOf(0754)), 054u);
}

TEST(PosixAclTest, EntriesAreWrittenAsGetfaclDoes) {
  const std::pair<Ace, const char*> rows[] = {
      {kOwner, "user::rwx"},           {kAnn, "user:1000:rw-"}, {kGroup, "group::r-x"},
      {kStaff, "group:50:-w-"},        {kMask, "mask::rw-"},    {kOther, "other::r--"},
      {{Ace::kOther, 0}, "other::---"}};
  for (const auto& [ace, text] : rows) EXPECT_EQ(AceText(ace), text);
}

}  // namespace
}  // namespace nfswalk::protocol
