// POSIX ACLs of version 3, "system.posix_acl_access" and "system.posix_acl_default": what is sent
// for them, what one changes of the other, and servers that have none.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/protocol/posix_acl.h"
#include "tests/fixtures/fake_mount.h"

namespace nfswalk {
namespace {

using protocol::FakeNfs3;
using protocol::FakeNode;
using protocol::PosixAcl;
using protocol::PosixAclValue;
using protocol::Xdr;
using Ace = protocol::PosixAce;
using Names = std::vector<std::string>;

constexpr std::string_view kAccess = "system.posix_acl_access";
constexpr std::string_view kDefault = "system.posix_acl_default";
constexpr std::errc kNotSupported = std::errc::operation_not_supported;
constexpr std::errc kNoData = std::errc::no_message_available;

const PosixAcl kOfAnn{{Ace::kUserObj, 6},
                      {Ace::kUser, 4, 1000},
                      {Ace::kGroupObj, 0},
                      {Ace::kMask, 4},
                      {Ace::kOther, 0}};
const PosixAcl kOfBob{{Ace::kUserObj, 7},
                      {Ace::kUser, 7, 1001},
                      {Ace::kGroupObj, 5},
                      {Ace::kMask, 7},
                      {Ace::kOther, 5}};

// The entries as NFSACL has them.
std::string Wire(const PosixAcl& acl, uint32_t flag = 0) {
  Xdr xdr;
  for (const Ace& ace : acl) xdr.U32(ace.tag | flag, ace.id == Ace::kNoId ? 0 : ace.id, ace.rights);
  return xdr.str();
}

class PosixAclsTest : public FakeFile {
 protected:
  PosixAclsTest() : FakeFile(3) {
    Mount();
    nfs3_.Put("d", {.type = FakeNode::Type::kDirectory, .mode = 0750});
    nfs3_.Put("link", {.type = FakeNode::Type::kSymlink, .data = "f"});
  }
  std::errc Set(const std::string& path, std::string_view name, const PosixAcl& acl,
                XattrMode how = XattrMode::kEither) {
    return client_->SetXattr(path, name, PosixAclValue(acl), how, kUser);
  }
  std::string Get(const std::string& path, std::string_view name) {
    return client_->GetXattr(path, name, kUser).value_or("none");
  }
  std::errc GetError(const std::string& path, std::string_view name) {
    const auto value = client_->GetXattr(path, name, kUser, {.no_follow = true});
    return value ? kOk : value.error();
  }
  FakeNode At(const std::string& path) { return nfs3_.Find(path).value_or(FakeNode{}); }
};

TEST_F(PosixAclsTest, AreListedReadAndSet) {
  for (const XattrMode how : {XattrMode::kEither, XattrMode::kCreate, XattrMode::kReplace}) {
    EXPECT_EQ(Set("f", kAccess, kOfAnn, how), kOk);
  }
  EXPECT_EQ(At("f").posix_acl, Wire(kOfAnn));
  EXPECT_EQ(Get("f", kAccess), PosixAclValue(kOfAnn));
  EXPECT_EQ(file_->GetXattr(kAccess).value_or("none"), PosixAclValue(kOfAnn));
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{}), Names{std::string(kAccess)});
  EXPECT_EQ(Set("d", kDefault, kOfBob), kOk);
  EXPECT_EQ(client_->ListXattrs("d", kUser).value_or(Names{}), Names{std::string(kDefault)});
  EXPECT_EQ(Set("d", kAccess, kOfAnn), kOk);
  EXPECT_EQ(client_->ListXattrs("d", kUser).value_or(Names{}),
            (Names{std::string(kAccess), std::string(kDefault)}));
}

TEST_F(PosixAclsTest, OneThatIsSetLeavesTheOther) {
  EXPECT_EQ(Set("d", kAccess, kOfAnn), kOk);
  EXPECT_EQ(Set("d", kDefault, kOfBob), kOk);
  EXPECT_EQ(At("d").posix_acl, Wire(kOfAnn));
  EXPECT_EQ(At("d").default_acl, Wire(kOfBob, 0x1000));
  EXPECT_EQ(Set("d", kAccess, kOfBob), kOk);
  EXPECT_EQ(At("d").default_acl, Wire(kOfBob, 0x1000));
  EXPECT_EQ(client_->RemoveXattr("d", kAccess, kUser), kOk);
  EXPECT_EQ(At("d").posix_acl, "");
  EXPECT_EQ(At("d").default_acl, Wire(kOfBob, 0x1000));
  EXPECT_EQ(client_->RemoveXattr("d", kDefault, kUser), kOk);
  EXPECT_EQ(At("d").default_acl, "");
  EXPECT_EQ(client_->RemoveXattr("d", kDefault, kUser), kOk) << "as of a local file system";
}

TEST_F(PosixAclsTest, OneThatTheModeTellsIsNone) {
  EXPECT_EQ(GetError("f", kAccess), kNoData);
  EXPECT_EQ(GetError("d", kDefault), kNoData);
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{"?"}), Names{});
  EXPECT_EQ(Set("f", kAccess, protocol::PosixAclOf(0640)), kOk);
  EXPECT_EQ(GetError("f", kAccess), kNoData);
}

TEST_F(PosixAclsTest, BytesThatAreNoneAreNotSent) {
  const int sent = nfs3_.calls(FakeNfs3::kSetAcl);
  for (const std::string& value : {std::string(), std::string("bytes"), PosixAclValue({kOfAnn[0]}),
                                   PosixAclValue(kOfAnn).substr(0, 40)}) {
    EXPECT_EQ(client_->SetXattr("f", kAccess, value, XattrMode::kEither, kUser),
              std::errc::invalid_argument);
  }
  PosixAcl many{{Ace::kUserObj, 7}};
  for (uint32_t id = 0; id < protocol::kPosixAclEntriesMax; ++id)
    many.push_back({Ace::kUser, 7, id});
  many.insert(many.end(), {{Ace::kGroupObj, 7}, {Ace::kMask, 7}, {Ace::kOther, 7}});
  EXPECT_EQ(Set("f", kAccess, many), std::errc::argument_list_too_long);
  many.erase(many.begin() + 1, many.begin() + 5);
  EXPECT_EQ(nfs3_.calls(FakeNfs3::kSetAcl), sent);
  EXPECT_EQ(Set("f", kAccess, many), kOk);
  EXPECT_EQ(Get("f", kAccess), PosixAclValue(many));
}

// As of a local file system.
TEST_F(PosixAclsTest, FilesHaveNoDefaultAndLinksNone) {
  EXPECT_EQ(Set("f", kDefault, kOfAnn), std::errc::permission_denied);
  EXPECT_EQ(client_->RemoveXattr("f", kDefault, kUser), kOk);
  EXPECT_EQ(nfs3_.calls(FakeNfs3::kSetAcl), 0);
  nfs3_.Inject(FakeNfs3::kGetAcl, {.status = NFS3ERR_NOTSUPP});
  EXPECT_EQ(GetError("link", kAccess), kNotSupported);
  EXPECT_EQ(GetError("f", kAccess), kNoData) << "a link tells nothing of files";
}

// The server changes it with its mask.
TEST_F(PosixAclsTest, AChangeAsksForModeAndRightsAgain) {
  ASSERT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  const int rights = calls(NFS3_ACCESS), attributes = calls(NFS3_GETATTR);
  EXPECT_EQ(Set("f", kAccess, kOfAnn), kOk);
  EXPECT_TRUE(client_->Stat("f", kUser).has_value());
  EXPECT_EQ(calls(NFS3_GETATTR), attributes + 1);
  EXPECT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  EXPECT_EQ(calls(NFS3_ACCESS), rights + 1);
}

// A server sets the one ACL, and then the other.
TEST_F(PosixAclsTest, AnErrorOfAChangeAsksForRightsAgain) {
  ASSERT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  const int rights = calls(NFS3_ACCESS);
  nfs3_.Inject(FakeNfs3::kSetAcl, {.status = NFS3ERR_NOSPC});
  EXPECT_EQ(Set("f", kAccess, kOfAnn), std::errc::no_space_on_device);
  EXPECT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  EXPECT_EQ(calls(NFS3_ACCESS), rights + 1);
}

// A file that has none says nothing of others.
TEST_F(PosixAclsTest, AFileWithoutThemIsNotTheFileSystem) {
  nfs3_.Inject(FakeNfs3::kGetAcl, {.status = NFS3ERR_NOTSUPP});
  EXPECT_EQ(GetError("f", kAccess), kNotSupported);
  EXPECT_EQ(GetError("f", kAccess), kNoData);
}

TEST_F(PosixAclsTest, AServerWithoutThemIsNotAskedToSetThem) {
  nfs3_.set_has_acls(false);
  EXPECT_EQ(Set("f", kAccess, kOfAnn), kNotSupported);
  const uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(Set("f", kAccess, kOfAnn), kNotSupported);
  EXPECT_EQ(client_->stats().rpcs, rpcs);
}

// WIRE-48, here and below.
TEST_F(PosixAclsTest, AServerWithoutThemIsAskedOnce) {
  nfs3_.set_has_acls(false);
  EXPECT_EQ(GetError("f", kAccess), kNotSupported);
  const uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(GetError("f", kAccess), kNotSupported);
  EXPECT_EQ(Set("f", kAccess, kOfAnn), kNotSupported);
  EXPECT_EQ(client_->RemoveXattr("f", kAccess, kUser), kNotSupported);
  EXPECT_EQ(client_->ListXattrs("f", kUser).error(), kNotSupported);
  EXPECT_EQ(client_->stats().rpcs, rpcs);
}

TEST_F(PosixAclsTest, AMountMayHaveNone) {
  options_.acl = false;
  MountAnew();
  const uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(GetError("f", kAccess), kNotSupported);
  EXPECT_EQ(Set("f", kAccess, kOfAnn), kNotSupported);
  EXPECT_EQ(client_->RemoveXattr("f", kAccess, kUser), kNotSupported);
  EXPECT_EQ(client_->ListXattrs("f", kUser).error(), kNotSupported);
  EXPECT_LE(client_->stats().rpcs, rpcs + 1) << "the LOOKUP";
}

TEST_F(PosixAclsTest, AListThatCannotBeReadIsAnError) {
  nfs3_.Inject(FakeNfs3::kGetAcl, {.status = NFS3ERR_ACCES});
  EXPECT_EQ(client_->ListXattrs("f", kUser).error(), std::errc::permission_denied);
  nfs3_.Inject(FakeNfs3::kGetAcl, {.status = NFS3ERR_IO});
  EXPECT_EQ(Set("f", kAccess, kOfAnn), std::errc::io_error);
  EXPECT_EQ(nfs3_.calls(FakeNfs3::kSetAcl), 0);
}

TEST_F(PosixAclsTest, OneOfVersion4IsNone) {
  EXPECT_EQ(GetError("f", "system.nfs4_acl"), kNotSupported);
  EXPECT_EQ(GetError("f", kAccess), kNoData);
}

}  // namespace
}  // namespace nfswalk
