// POSIX ACLs of a server of version 3 that has them: what one allows holds at once, for the client
// that set it and for others, and it is that of the server's file system.
#include "nfsclient/protocol/posix_acl.h"

#include <sys/xattr.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using protocol::PosixAcl;
using protocol::PosixAclValue;
using Ace = protocol::PosixAce;
using Names = std::vector<std::string>;

constexpr char kAccess[] = "system.posix_acl_access";
constexpr char kDefault[] = "system.posix_acl_default";

// User 2000 may read.
const PosixAcl kOfUser{{Ace::kUserObj, 6},
                       {Ace::kUser, 4, 2000},
                       {Ace::kGroupObj, 0},
                       {Ace::kMask, 4},
                       {Ace::kOther, 0}};

class PosixAclExport : public fixtures::MountedExport {
 protected:
  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    if (!server().properties().has_posix_acls) GTEST_SKIP() << "it has no POSIX ACLs";
    setter_ = Mount("actimeo=600");
    reader_ = Mount("actimeo=0");
    MakeFile("f", "text");
    std::filesystem::permissions(Backing("f"), std::filesystem::perms(0600));
    MakeDirectory("d");
  }
  int version() const override { return 3; }

  std::string Get(Client& client, const char* path, const char* name) {
    return client.GetXattr(Path(path), name, root_).value_or("none");
  }
  std::errc Set(const char* path, const char* name, const PosixAcl& acl) {
    return setter_->SetXattr(Path(path), name, PosixAclValue(acl), XattrMode::kEither, root_);
  }
  std::errc MayRead(Client& client) { return client.Access(Path("f"), kMayRead, user_); }
  std::string OnServer(const char* path, const char* name) {
    std::array<char, 256> value;
    const ssize_t size = getxattr(Backing(path).c_str(), name, value.data(), value.size());
    return size < 0 ? "none" : std::string(value.data(), static_cast<size_t>(size));
  }

  std::unique_ptr<Client> setter_, reader_;
  const Credential user_{2000, 2000};
};

// WIRE-48.
TEST_F(PosixAclExport, AllowsWhatTheModeDoesNot) {
  constexpr std::errc kDenied = std::errc::permission_denied;
  for (Client* const client : {setter_.get(), reader_.get()}) {
    EXPECT_EQ(Get(*client, "f", kAccess), "none");
    EXPECT_EQ(MayRead(*client), kDenied);
  }
  EXPECT_EQ(Set("f", kAccess, kOfUser), kOk);
  EXPECT_EQ(OnServer("f", kAccess), PosixAclValue(kOfUser));
  for (Client* const client : {setter_.get(), reader_.get()}) {
    EXPECT_EQ(MayRead(*client), kOk);
    EXPECT_EQ(Get(*client, "f", kAccess), PosixAclValue(kOfUser));
    EXPECT_EQ(client->Stat(Path("f"), root_).value_or(Attributes{}).mode, 0640u) << "the mask";
  }
  EXPECT_EQ(setter_->ListXattrs(Path("f"), root_).value_or(Names{}), Names{kAccess});
  EXPECT_EQ(setter_->RemoveXattr(Path("f"), kAccess, root_), kOk);
  EXPECT_EQ(OnServer("f", kAccess), "none");
  EXPECT_EQ(MayRead(*setter_), MayRead(*reader_));
}

TEST_F(PosixAclExport, DirectoriesHaveOneForWhatIsMade) {
  EXPECT_EQ(Set("d", kDefault, kOfUser), kOk);
  EXPECT_EQ(OnServer("d", kDefault), PosixAclValue(kOfUser));
  EXPECT_EQ(OnServer("d", kAccess), "none");
  EXPECT_EQ(Get(*reader_, "d", kDefault), PosixAclValue(kOfUser));
  EXPECT_TRUE(setter_->Create(Path("d/new"), 0640, true, root_).has_value());
  EXPECT_EQ(Get(*setter_, "d/new", kAccess), PosixAclValue(kOfUser));
  EXPECT_EQ(Set("d", kAccess, kOfUser), kOk);
  EXPECT_EQ(OnServer("d", kDefault), PosixAclValue(kOfUser));
  EXPECT_EQ(setter_->RemoveXattr(Path("d"), kDefault, root_), kOk);
  EXPECT_EQ(OnServer("d", kDefault), "none");
  EXPECT_EQ(OnServer("d", kAccess), PosixAclValue(kOfUser));
}

TEST_F(PosixAclExport, TheOwnerAloneSetsIt) {
  EXPECT_EQ(
      setter_->SetXattr(Path("f"), kAccess, PosixAclValue(kOfUser), XattrMode::kEither, user_),
      std::errc::operation_not_permitted);
  EXPECT_EQ(Set("f", kDefault, kOfUser), std::errc::permission_denied);
}

}  // namespace
}  // namespace nfswalk
