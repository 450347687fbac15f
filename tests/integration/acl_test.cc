// ACLs of a server that has them: what one allows holds at once, for the client that set it and for
// others, and the server's file system has it.
#include <sys/xattr.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "nfsclient/client.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr char kName[] = "system.nfs4_acl";

void AppendWord(std::string& acl, uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) acl.push_back(static_cast<char>(word >> shift));
}

// The list with one entry more, for user 2000 to read, READ_DATA and READ_ACL.
std::string AllowingUser(std::string acl) {
  const std::string who = "2000";
  ++acl[3];  // the count, of less than 255
  AppendWord(acl, 0);
  AppendWord(acl, 0);
  AppendWord(acl, 0x20001);
  AppendWord(acl, static_cast<uint32_t>(who.size()));
  return acl + who;
}

class AclTest : public fixtures::MountedExport {
 protected:
  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    if (!server().properties().has_acls) GTEST_SKIP() << "it has no ACLs";
    setter_ = Mount("actimeo=600");
    reader_ = Mount("actimeo=0");
    MakeFile("f", "text");
    std::filesystem::permissions(Backing("f"), std::filesystem::perms::owner_read);
  }
  int version() const override { return 4; }

  std::string Get() { return setter_->GetXattr(Path("f"), kName, root_).value_or("none"); }
  std::errc Set(const std::string& acl) {
    return setter_->SetXattr(Path("f"), kName, acl, XattrMode::kEither, root_);
  }
  std::errc MayRead(Client& client) { return client.Access(Path("f"), kMayRead, user_); }

  std::unique_ptr<Client> setter_, reader_;
  const Credential user_{2000, 2000};
};

// WIRE-48.
TEST_F(AclTest, AllowsWhatTheModeDoesNot) {
  const std::string of_mode = Get();
  for (Client* const client : {setter_.get(), reader_.get()}) {
    EXPECT_EQ(MayRead(*client), std::errc::permission_denied);
  }
  EXPECT_EQ(Set(AllowingUser(of_mode)), kOk);
  for (Client* const client : {setter_.get(), reader_.get()}) {
    EXPECT_EQ(MayRead(*client), kOk);
    EXPECT_TRUE(client->Open(Path("f"), kMayRead, user_).has_value());
  }
  EXPECT_GT(getxattr(Backing("f").c_str(), "system.posix_acl_access", nullptr, 0), 0);
  EXPECT_EQ(Set(of_mode), kOk);
  for (Client* const client : {setter_.get(), reader_.get()}) {
    EXPECT_EQ(MayRead(*client), std::errc::permission_denied);
  }
}

TEST_F(AclTest, IsListed) {
  const auto names = setter_->ListXattrs(Path("f"), root_);
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->back(), kName);
}

TEST_F(AclTest, OnlyTheOwnerSetsOne) {
  EXPECT_EQ(setter_->SetXattr(Path("f"), kName, Get(), XattrMode::kEither, user_),
            std::errc::operation_not_permitted);
}

}  // namespace
}  // namespace nfswalk
