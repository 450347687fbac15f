// Extended attributes of nodes and paths: names, what is asked and what is not, and what a change
// does to the cached attributes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_mount.h"

namespace nfswalk {
namespace {

using protocol::FakeNode;
using protocol::kOpGetXattr;
using protocol::kOpListXattrs;
using protocol::kOpSetXattr;
using Names = std::vector<std::string>;

constexpr std::errc kNotSupported = std::errc::operation_not_supported;
constexpr std::errc kNoData = std::errc::no_message_available;

class XattrsTest : public FakeFile {
 protected:
  XattrsTest() : FakeFile(4, 2) { Mount(); }

  std::errc Set(const std::string& name, const std::string& value = "v") {
    return client_->SetXattr("f", name, value, XattrMode::kEither, kUser);
  }
  std::errc GetError(const std::string& name) {
    const auto value = client_->GetXattr("f", name, kUser);
    return value ? kOk : value.error();
  }
};

TEST_F(XattrsTest, PathsAndNodesHaveThem) {
  const auto node = std::move(*client_->Resolve("f", kUser));
  EXPECT_EQ(Set("user.a", "1"), kOk);
  EXPECT_EQ(node->SetXattr("", "user.b", "2", XattrMode::kCreate, kUser), kOk);
  EXPECT_EQ(client_->GetXattr("f", "user.b", kUser).value_or("none"), "2");
  EXPECT_EQ(node->GetXattr("", "user.a", kUser).value_or("none"), "1");
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{}), (Names{"user.a", "user.b"}));
  EXPECT_EQ(client_->RemoveXattr("f", "user.a", kUser), kOk);
  EXPECT_EQ(node->RemoveXattr("", "user.b", kUser), kOk);
  EXPECT_EQ(node->ListXattrs("", kUser).value_or(Names{"?"}), Names{});
  EXPECT_EQ(client_->SetXattr("none", "user.a", "", XattrMode::kEither, kUser),
            std::errc::no_such_file_or_directory);
}

TEST_F(XattrsTest, OpenFilesHaveThem) {
  EXPECT_EQ(file_->SetXattr("user.a", "1", XattrMode::kCreate), kOk);
  EXPECT_EQ(file_->SetXattr("user.a", "2", XattrMode::kCreate), std::errc::file_exists);
  EXPECT_EQ(file_->GetXattr("user.a").value_or("none"), "1");
  EXPECT_EQ(file_->GetXattr("user.b").error(), kNoData);
  EXPECT_EQ(file_->ListXattrs().value_or(Names{}), Names{"user.a"});
  client_->Shutdown();
  EXPECT_EQ(file_->GetXattr("user.a").error(), std::errc::operation_canceled);
  EXPECT_EQ(file_->ListXattrs().error(), std::errc::operation_canceled);
  EXPECT_EQ(file_->SetXattr("user.a", "", XattrMode::kEither), std::errc::operation_canceled);
}

TEST_F(XattrsTest, NamesAreThoseOfUsers) {
  const std::pair<std::string, std::errc> rows[] = {
      {"user.n", kNoData},
      {"user." + std::string(250, 'n'), kNoData},
      {"user." + std::string(251, 'n'), std::errc::result_out_of_range},
      {"", std::errc::result_out_of_range},
      {"user.", std::errc::invalid_argument},
      {std::string("user.a\0b", 8), std::errc::invalid_argument},
      {"user", kNotSupported},
      {"User.n", kNotSupported},
      {"trusted.n", kNotSupported},
      {"security.capability", kNotSupported},
      {"system.posix_acl_access", kNotSupported},
  };
  for (const auto& [name, error] : rows) {
    EXPECT_EQ(GetError(name), error) << name;
    EXPECT_EQ(client_->RemoveXattr("f", name, kUser), error) << name;
    EXPECT_EQ(Set(name), error == kNoData ? kOk : error) << name;
    (void)client_->RemoveXattr("f", name, kUser);
  }
  EXPECT_EQ(Set("user.n", std::string(65'536, 'v')), kOk);
  EXPECT_EQ(Set("user.n", std::string(65'537, 'v')), std::errc::argument_list_too_long);
}

// One that a user of this client could not ask for.
TEST_F(XattrsTest, AListLeavesOutWhatHasNoName) {
  const std::string fits(250, 'n');
  nfs4_.Put("g", {.mode = 0666, .xattrs = {{fits, ""}, {fits + "n", ""}}});
  EXPECT_EQ(client_->ListXattrs("g", kUser).value_or(Names{}), Names{"user." + fits});
}

TEST_F(XattrsTest, AChangeShowsInTheAttributes) {
  const Attributes before = *client_->Stat("f", kUser);
  EXPECT_EQ(Set("user.a"), kOk);
  const Attributes after = *client_->Stat("f", kUser);
  EXPECT_NE(before.change, after.change);
  const uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(client_->RemoveXattr("f", "user.a", kUser), kOk);
  EXPECT_NE(client_->Stat("f", kUser)->change, after.change);
  EXPECT_EQ(client_->stats().rpcs, rpcs + 1) << "its reply has the attributes";
}

// WIRE-47. The file system of "there" has none: it is asked once, and that of "f" goes on.
TEST_F(XattrsTest, AFileSystemWithoutThemIsAskedOnce) {
  constexpr uint64_t kOther = 9;
  nfs4_.Put("there", {.mode = 0666, .fsid = kOther, .fileid = 1});
  nfs4_.Inject(kOpListXattrs, {.status = NFS4ERR_NOTSUPP});
  EXPECT_EQ(client_->ListXattrs("there", kUser).error(), kNotSupported);
  EXPECT_EQ(client_->ListXattrs("there", kUser).error(), kNotSupported);
  EXPECT_EQ(client_->SetXattr("there", "user.a", "", XattrMode::kEither, kUser), kNotSupported);
  EXPECT_EQ(nfs4_.calls(kOpListXattrs), 1);
  EXPECT_EQ(nfs4_.calls(kOpSetXattr), 0);
  EXPECT_EQ(Set("user.a"), kOk);
}

TEST_F(XattrsTest, CallsFromTheCachesNeedTheServer) {
  EXPECT_EQ(client_->GetXattr("f", "user.a", kUser, {.cached = true}).error(),
            std::errc::resource_unavailable_try_again);
  EXPECT_EQ(nfs4_.calls(kOpGetXattr), 0);
}

// Each call asks the server: another client may have changed it.
TEST_F(XattrsTest, NothingIsCached) {
  const auto other = std::move(*Client::MountOver(Connect(), MountOptions()));
  for (const char* value : {"1", "2", "3"}) {
    EXPECT_EQ(other->SetXattr("f", "user.a", value, XattrMode::kEither, kUser), kOk);
    EXPECT_EQ(client_->GetXattr("f", "user.a", kUser).value_or("none"), value);
    EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{}), Names{"user.a"});
  }
  EXPECT_EQ(other->RemoveXattr("f", "user.a", kUser), kOk);
  EXPECT_EQ(GetError("user.a"), kNoData);
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{"?"}), Names{});
}

// A refused change says nothing of what can be read.
TEST_F(XattrsTest, AFileSystemThatRefusesChangesIsRead) {
  EXPECT_EQ(Set("user.a", "1"), kOk);
  nfs4_.Inject(kOpSetXattr, {.status = NFS4ERR_NOTSUPP});
  EXPECT_EQ(Set("user.a", "2"), kNotSupported);
  EXPECT_EQ(client_->GetXattr("f", "user.a", kUser).value_or("none"), "1");
}

// Sends written data before the change of an xattr: no file change is taken for another client's.
TEST_F(XattrsTest, AChangeFollowsWhatWasWritten) {
  ASSERT_EQ(file_->PWrite(Data(0, kPiece), 0), kPiece);
  EXPECT_EQ(file_->SetXattr("user.a", "1", XattrMode::kEither), kOk);
  EXPECT_EQ(nfs4_.Find("f")->data, Text(0, kPiece));
  ASSERT_EQ(file_->PWrite(Data(kPiece, kPiece), kPiece), kPiece);
  EXPECT_EQ(client_->RemoveXattr("f", "user.a", kUser), kOk);
  EXPECT_EQ(nfs4_.Find("f")->data, Text(0, 2 * kPiece));
  EXPECT_EQ(client_->invalidations_queued(), 0u);
}

// An ACL, "system.nfs4_acl".
class AclXattrTest : public FakeFile {
 protected:
  AclXattrTest() : FakeFile(4, 2) {
    nfs4_.SetAcl("", kAllowsNothing);
    Mount();
    nfs4_.SetAcl("f", kAllowsNothing);
  }
  std::errc Set(const std::string& acl, XattrMode how = XattrMode::kEither) {
    return client_->SetXattr("f", kName, acl, how, kUser);
  }

  static constexpr std::string_view kName = "system.nfs4_acl";
  static inline const std::string kAllowsNothing = protocol::Xdr().U32(0).str();
  static inline const std::string kAllowsOne =
      protocol::Xdr().U32(1, 0, 0, 1).Bytes("ann@example.org").str();
};

TEST_F(AclXattrTest, IsListedReadAndSet) {
  EXPECT_EQ(client_->SetXattr("f", "user.a", "", XattrMode::kEither, kUser), kOk);
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{}),
            (Names{"user.a", std::string(kName)}));
  EXPECT_EQ(Set(kAllowsOne), kOk);
  EXPECT_EQ(client_->GetXattr("f", kName, kUser).value_or("none"), kAllowsOne);
  EXPECT_EQ(file_->GetXattr(kName).value_or("none"), kAllowsOne);
  EXPECT_EQ(file_->SetXattr(kName, kAllowsNothing, XattrMode::kEither), kOk);
  EXPECT_EQ(nfs4_.Find("f")->acl, kAllowsNothing);
}

// As of the kernel's client.
TEST_F(AclXattrTest, IsThereInAnyModeAndCannotBeRemoved) {
  EXPECT_EQ(Set(kAllowsOne, XattrMode::kCreate), kOk);
  EXPECT_EQ(Set(kAllowsNothing, XattrMode::kReplace), kOk);
  EXPECT_EQ(client_->RemoveXattr("f", kName, kUser), std::errc::invalid_argument);
  EXPECT_EQ(Set("user::rwx"), std::errc::invalid_argument);
  EXPECT_EQ(Set(std::string(65'537, 'v')), std::errc::argument_list_too_long);
  EXPECT_EQ(nfs4_.Find("f")->acl, kAllowsNothing);
}

TEST_F(AclXattrTest, IsAllThatAFileSystemMayHave) {
  nfs4_.Inject(kOpListXattrs, {.status = NFS4ERR_NOTSUPP});
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{}), Names{std::string(kName)});
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{}), Names{std::string(kName)});
  EXPECT_EQ(nfs4_.calls(kOpListXattrs), 1);
}

// The mode need not show what one changes.
TEST_F(AclXattrTest, RightsAreAskedForAgainOnceItIsSet) {
  EXPECT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  const int asked = calls(OP_ACCESS);
  EXPECT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  EXPECT_EQ(calls(OP_ACCESS), asked);
  EXPECT_EQ(Set(kAllowsOne), kOk);
  EXPECT_EQ(client_->Access("f", kMayRead, kUser), kOk);
  EXPECT_EQ(calls(OP_ACCESS), asked + 1);
}

// WIRE-48, here and below.
TEST_F(XattrsTest, TheRootsFileSystemMayHaveNoAcls) {
  const uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(GetError("system.nfs4_acl"), kNotSupported);
  EXPECT_EQ(Set("system.nfs4_acl"), kNotSupported);
  EXPECT_EQ(client_->RemoveXattr("f", "system.nfs4_acl", kUser), kNotSupported);
  EXPECT_EQ(client_->stats().rpcs, rpcs) << "it has said so";
  EXPECT_EQ(client_->ListXattrs("f", kUser).value_or(Names{"?"}), Names{});
}

class AclFileSystemsTest : public AclXattrTest {
 protected:
  static constexpr uint64_t kOther = 9;

  AclFileSystemsTest() {
    nfs4_.Put("there", {.mode = 0666, .fsid = kOther, .fileid = 1});
    nfs4_.Put("link", {.type = FakeNode::Type::kSymlink, .data = "f"});
  }
  std::string Get(const std::string& name) {
    return client_->GetXattr(name, kName, kUser, {.no_follow = true}).value_or("none");
  }
};

TEST_F(AclFileSystemsTest, AFileSystemWithoutThemIsAskedOnce) {
  EXPECT_EQ(Get("there"), "none");
  EXPECT_TRUE(client_->Stat("there", kUser).has_value());
  const uint64_t rpcs = client_->stats().rpcs;
  EXPECT_EQ(Get("there"), "none");
  EXPECT_EQ(client_->SetXattr("there", kName, kAllowsOne, XattrMode::kEither, kUser),
            kNotSupported);
  EXPECT_EQ(client_->RemoveXattr("there", kName, kUser), kNotSupported);
  EXPECT_EQ(client_->stats().rpcs, rpcs);
  EXPECT_EQ(client_->ListXattrs("there", kUser).value_or(Names{"?"}), Names{});
  EXPECT_EQ(Get("f"), kAllowsNothing) << "of another file system";
}

TEST_F(AclFileSystemsTest, TheRootTellsNothingOfAnotherFileSystem) {
  nfs4_.SetAcl("", "");
  nfs4_.SetAcl("f", "");
  nfs4_.SetAcl("there", kAllowsNothing);
  MountAnew();
  EXPECT_EQ(client_->ListXattrs("there", kUser).value_or(Names{}), Names{std::string(kName)});
  EXPECT_EQ(Get("there"), kAllowsNothing);
  EXPECT_EQ(client_->SetXattr("there", kName, kAllowsOne, XattrMode::kEither, kUser), kOk);
  EXPECT_EQ(Get("f"), "none");
}

TEST_F(AclFileSystemsTest, ALinkTellsNothingOfFiles) {
  EXPECT_EQ(Get("link"), "none");
  EXPECT_EQ(client_->ListXattrs("link", kUser, {.no_follow = true}).value_or(Names{"?"}), Names{});
  EXPECT_EQ(Get("f"), kAllowsNothing);
}

TEST_F(XattrsTest, AnUnknownModeIsRefused) {
  EXPECT_EQ(client_->SetXattr("f", "user.a", "", XattrMode{3}, kUser), std::errc::invalid_argument);
}

}  // namespace
}  // namespace nfswalk
