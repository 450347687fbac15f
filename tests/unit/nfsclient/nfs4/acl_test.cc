// ACLs of version 4: what is one, and what a server may answer.
#include "nfsclient/nfs4/acl.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/nfs4.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;

constexpr std::errc kNotSupported = std::errc::operation_not_supported;
const Credential kRoot(0, 0);
constexpr uint32_t kAllow = 0, kDeny = 1, kGroup = 0x40;

Xdr Entry(uint32_t type, uint32_t flags, uint32_t mask, const std::string& who) {
  return Xdr().U32(type, flags, mask).Bytes(who);
}
const std::string kOfMode = Xdr()
                                .U32(3)
                                .Raw(Entry(kAllow, 0, 0x1601bf, "OWNER@"))
                                .Raw(Entry(kAllow, kGroup, 0x120089, "GROUP@"))
                                .Raw(Entry(kAllow, 0, 0x120089, "EVERYONE@"))
                                .str();
const std::string kOfUser = Xdr()
                                .U32(2)
                                .Raw(Entry(kDeny, 0, 0x2, "OWNER@"))
                                .Raw(Entry(kAllow, 0, 0x3, "ann@example.org"))
                                .str();

class AclTest : public testing::TestWithParam<uint32_t> {
 protected:
  AclTest() {
    server_.Offer({0, 1, 2});
    server_.SetAcl("", kOfMode);
    server_.Put("f", {.acl = kOfMode});
    server_.Put("none", {});
    Connect();
  }
  void Connect() {
    nfs_ = std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, GetParam()}, {}));
    root_ = nfs_->GetRoot(kRoot).handle;
    file_ = nfs_->Lookup(root_, "f", kRoot).handle;
  }
  XattrReply Get() { return nfs_->GetAcl(file_, AclKind::kNfs4, kRoot); }
  FileChangeReply Set(const std::string& acl) {
    return nfs_->SetAcl(file_, AclKind::kNfs4, acl, kRoot);
  }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_, file_;
};
INSTANTIATE_TEST_SUITE_P(MinorVersions, AclTest, testing::Values(0, 1, 2));

TEST(ReadAclTest, EntriesAreReadInTheirOrder) {
  const auto acl = ReadAcl(kOfUser);
  ASSERT_TRUE(acl.has_value());
  ASSERT_EQ(acl->size(), 2u);
  EXPECT_EQ((*acl)[0].type, kDeny);
  EXPECT_EQ((*acl)[0].mask, 0x2u);
  EXPECT_EQ((*acl)[0].who, "OWNER@");
  EXPECT_EQ((*acl)[1].who, "ann@example.org");
  EXPECT_TRUE(ReadAcl(Xdr().U32(0).str())->empty());
}

TEST(ReadAclTest, BytesThatAreNoListAreRefused) {
  const std::pair<const char*, std::string> rows[] = {
      {"nothing", ""},
      {"half a count", std::string(2, '\0')},
      {"fewer entries than it says", Xdr().U32(2).Raw(Entry(0, 0, 0, "OWNER@")).str()},
      {"entries without end", Xdr().U32(~0u).Raw(Entry(0, 0, 0, "OWNER@")).str()},
      {"more than it says", kOfUser + std::string(4, '\0')},
      {"a name longer than all", Xdr().U32(1, 0, 0, 0, 0x7fffffff).str()},
      {"a name without its padding", kOfUser.substr(0, kOfUser.size() - 1)},
      {"an entry without a name", Xdr().U32(1, 0, 0, 0).str()},
  };
  for (const auto& [what, bytes] : rows) EXPECT_FALSE(ReadAcl(bytes).has_value()) << what;
}

TEST(AceTextTest, LettersAreThoseOfGetfacl) {
  const std::pair<Ace, const char*> rows[] = {
      {{kAllow, 0, 0x1601bf, "OWNER@"}, "A::OWNER@:rwaxtTnNcCy"},
      {{kAllow, kGroup, 0x120089, "GROUP@"}, "A:g:GROUP@:rtncy"},
      {{kDeny, 0, 0x10040, "ann@example.org"}, "D::ann@example.org:Dd"},
      {{Ace::kAudit, 0x3f, 0, "EVERYONE@"}, "U:fdniSF:EVERYONE@:"},
      {{Ace::kAlarm, 0, 0, "EVERYONE@"}, "L::EVERYONE@:"},
      {{7, 1u << 31, 1u << 31, ""}, ":::"},
  };
  for (const auto& [ace, text] : rows) EXPECT_EQ(AceText(ace), text);
}

TEST(ClassModeTest, TheFirstEntryThatNamesARightDecidesIt) {
  struct Row {
    const char* what;
    std::vector<Ace> acl;
    uint32_t mode;
    bool is_as_mode;
  };
  const Row rows[] = {
      {"nothing", {}, 0, false},
      {"the owner", {{kAllow, 0, 0xfffff, "OWNER@"}}, 0, true},
      {"the group", {{kAllow, kGroup, 0x27, "GROUP@"}}, 070, true},
      {"everyone", {{kAllow, 0, 0x21, "EVERYONE@"}}, 055, true},
      {"half of writing", {{kAllow, 0, 0x2, "GROUP@"}}, 0, false},
      {"the other half", {{kAllow, 0, 0x4, "EVERYONE@"}}, 0, false},
      {"both halves", {{kAllow, 0, 0x2, "GROUP@"}, {kAllow, 0, 0x4, "EVERYONE@"}}, 020, false},
      {"removal alone", {{kAllow, 0, 0x40, "GROUP@"}}, 0, false},
      {"writing in a directory", {{kAllow, 0, 0x46, "GROUP@"}}, 020, true},
      {"the owner's rights", {{kAllow, 0, 0x40001, "GROUP@"}}, 040, false},
      {"denied before", {{kDeny, 0, 0x1, "GROUP@"}, {kAllow, 0, 0x1, "EVERYONE@"}}, 04, true},
      {"denied behind", {{kAllow, 0, 0x1, "GROUP@"}, {kDeny, 0, 0x1, "EVERYONE@"}}, 040, true},
      {"a user", {{kAllow, 0, 0x27, "ann"}, {kAllow, 0, 0x1, "GROUP@"}}, 040, false},
      {"another group", {{kAllow, kGroup, 0x27, "wheel"}}, 0, false},
      {"a user denied", {{kAllow, 0, 0x21, "EVERYONE@"}, {kDeny, 0, 0x1, "ann"}}, 011, false},
      {"what is inherited", {{kAllow, Ace::kInheritOnly, 0x27, "GROUP@"}}, 0, false},
      {"what is inherited, too", {{kAllow, Ace::kFileInherit, 0x1, "GROUP@"}}, 040, false},
      {"for directories", {{kAllow, Ace::kDirectoryInherit, 0x1, "GROUP@"}}, 040, false},
      {"once", {{kAllow, Ace::kNoPropagate, 0x1, "GROUP@"}}, 040, false},
      {"an audit", {{Ace::kAudit, 0, 0x27, "GROUP@"}}, 0, false},
      {"an alarm", {{Ace::kAlarm, 0, 0x27, "EVERYONE@"}}, 0, false},
      {"denied to heirs", {{kAllow, 0, 0x1, "EVERYONE@"}, {kDeny, 8, 0x1, "ann"}}, 044, false},
  };
  for (const auto& [what, acl, mode, is_as_mode] : rows) {
    EXPECT_EQ(ClassModeOf(acl), mode) << what;
    EXPECT_EQ(IsAsMode(acl), is_as_mode) << what;
  }
}

TEST_P(AclTest, IsKeptAsItIsSent) {
  EXPECT_EQ(Get().value, kOfMode);
  EXPECT_EQ(Set(kOfUser).error, kOk);
  EXPECT_EQ(server_.Find("f")->acl, kOfUser);
  EXPECT_EQ(Get().value, kOfUser);
}

TEST_P(AclTest, BytesThatAreNoListAreNotSent) {
  for (const std::string& bytes : {std::string(), std::string("user::rwx"), kOfUser + "more"}) {
    EXPECT_EQ(Set(bytes).error, std::errc::invalid_argument);
  }
  EXPECT_EQ(server_.calls(OP_SETATTR), 0);
}

TEST_P(AclTest, TheRootTellsWhetherItsFileSystemHasThem) {
  EXPECT_TRUE(nfs_->GetRoot(kRoot).limits.has_acls);
  server_.SetAcl("", "");
  EXPECT_FALSE(nfs_->GetRoot(kRoot).limits.has_acls);
}

TEST_P(AclTest, AFileSystemMayHaveNone) {
  file_ = nfs_->Lookup(root_, "none", kRoot).handle;
  EXPECT_EQ(Get().error, kNotSupported);
}

// xattr(7) has values of up to 64 KiB. The connection, and who else uses it, goes on.
TEST_P(AclTest, ALongOneIsAnErrorAndNoLostConnection) {
  const auto long_acl = [](size_t bytes) {
    return Xdr().U32(1).Raw(Entry(kAllow, 0, 1, std::string(bytes - 20, 'n'))).str();
  };
  const uint64_t connections = nfs_->transport_stats().connections_opened;
  const std::pair<size_t, std::errc> rows[] = {{65'536, kOk},
                                               {65'540, std::errc::argument_list_too_long},
                                               {200'000, std::errc::argument_list_too_long}};
  for (const auto& [bytes, error] : rows) {
    server_.SetAcl("f", long_acl(bytes));
    EXPECT_EQ(Get().error, error) << bytes;
    EXPECT_EQ(Get().value.size(), error == kOk ? bytes : 0);
  }
  EXPECT_EQ(nfs_->transport_stats().connections_opened, connections);
}

TEST_P(AclTest, AnAnswerThatIsNoneIsAnError) {
  const auto answer = [](uint32_t first_word, uint32_t second_word, const Xdr& values) {
    return Xdr().U32(OP_GETATTR, NFS4_OK, 2, first_word, second_word).Bytes(values.str());
  };
  constexpr uint32_t kAcl = 1u << FATTR4_ACL;
  const std::pair<const char*, Xdr> rows[] = {
      {"no list", answer(kAcl, 0, Xdr().U32(7))},
      {"something behind it", answer(kAcl, 1u << (FATTR4_MODE - 32), Xdr().Raw(kOfUser).U32(0644))},
      {"longer than it says", Xdr().U32(OP_GETATTR, NFS4_OK, 1, kAcl, 4096).Raw(kOfUser)},
      {"nothing", answer(kAcl, 0, Xdr())},
  };
  for (const auto& [what, result] : rows) {
    server_.Inject(OP_GETATTR, {.kind = Kind::kForged,
                                .forge = [&](const std::string&) { return result.str(); }});
    EXPECT_EQ(Get().error, std::errc::io_error) << what;
    EXPECT_EQ(Get().value, kOfMode);
  }
}

TEST_P(AclTest, EachErrorHasItsErrno) {
  const std::pair<int, std::errc> rows[] = {
      {NFS4ERR_ACCESS, std::errc::permission_denied},
      {NFS4ERR_PERM, std::errc::operation_not_permitted},
      {NFS4ERR_ROFS, std::errc::read_only_file_system},
      {NFS4ERR_STALE, kStale},
      {NFS4ERR_ATTRNOTSUPP, kNotSupported},
      {NFS4ERR_BADOWNER, std::errc::invalid_argument},
  };
  for (const auto& [status, error] : rows) {
    server_.Inject(OP_SETATTR, {.status = status});
    EXPECT_EQ(Set(kOfUser).error, error) << status;
  }
  EXPECT_EQ(server_.Find("f")->acl, kOfMode);
}

TEST_P(AclTest, ADelayIsWaitedForAndALostReplyAskedForAgain) {
  server_.Inject(OP_SETATTR, {.status = NFS4ERR_DELAY});
  EXPECT_EQ(Set(kOfUser).error, kOk);
  server_.Inject(OP_SETATTR, {.kind = Kind::kLoseReply});
  EXPECT_EQ(Set(kOfMode).error, kOk);
  server_.Inject(OP_GETATTR, {.status = NFS4ERR_DELAY});
  EXPECT_EQ(Get().value, kOfMode);
}

}  // namespace
}  // namespace nfswalk::protocol
