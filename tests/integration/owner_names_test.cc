// Owners over NFSv4 from a server that sends owner strings: callers see uids and gids, as over
// NFSv3.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "nfsclient/client.h"
#include "tests/fixtures/nfs_server.h"

namespace nfswalk {
namespace {

using fixtures::NfsServer;

const Credential kRoot(0, 0);
// In no user database: the server has no name for it.
constexpr uint32_t kNameless = 123'456;
constexpr uint32_t kNobody = 65534;
// "games" and "mail", which exist on every Debian.
constexpr uint32_t kGamesUser = 5;
constexpr uint32_t kMailGroup = 8;

// The parameter: whether the server sends numeric owner strings only.
class OwnerNames : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << NfsServer::Start().error();
    auto started = NfsServer::Start({.numeric_owners = GetParam()});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
    const NfsServer::NetworkScope inside(*server_);
    auto mounted = Client::Mount(*ParseMountUrl(server_->Url("noac", 4)));
    ASSERT_TRUE(mounted.has_value()) << mounted.error().message;
    client_ = std::move(*mounted);
    std::ofstream(Backing()) << "text";
  }
  std::string Backing() const { return server_->backing_directory() + "/file"; }
  // Whether the server has a number for an id without a name.
  bool TakesNumbers() const { return GetParam() || server_->properties().nameless_owners; }
  void ExpectOwner(uint32_t uid, uint32_t gid) {
    const auto found = client_->Stat("file", kRoot);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->uid, uid);
    EXPECT_EQ(found->gid, gid);
  }

  std::unique_ptr<NfsServer> server_;
  std::unique_ptr<Client> client_;
};

INSTANTIATE_TEST_SUITE_P(Servers, OwnerNames, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "SendNumbers" : "SendNames");
});

TEST_P(OwnerNames, AreMappedToIds) {
  ExpectOwner(0, 0);
  ASSERT_EQ(chown(Backing().c_str(), kGamesUser, kMailGroup), 0);
  ExpectOwner(kGamesUser, kMailGroup);
  ASSERT_EQ(chown(Backing().c_str(), kNameless, kNameless), 0);
  const uint32_t seen = TakesNumbers() ? kNameless : kNobody;
  ExpectOwner(seen, seen);
}

TEST_P(OwnerNames, AreSetById) {
  for (const auto& [uid, gid] : {std::pair{kGamesUser, kMailGroup}, {kNameless, kNameless}}) {
    const auto changed = client_->SetAttributesOf("file", {.uid = uid, .gid = gid}, kRoot);
    if (uid == kNameless && !TakesNumbers()) {
      EXPECT_EQ(changed.error(), std::errc::invalid_argument);
      continue;
    }
    ASSERT_TRUE(changed.has_value()) << uid;
    EXPECT_EQ(changed->uid, uid);
    struct stat seen {};
    ASSERT_EQ(stat(Backing().c_str(), &seen), 0);
    EXPECT_EQ(seen.st_uid, uid);
    EXPECT_EQ(seen.st_gid, gid);
  }
}

}  // namespace
}  // namespace nfswalk
