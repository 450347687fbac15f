// Which version a mount speaks, for every choice of its options and every set that a server offers.
#include "nfsclient/api/connect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk {
namespace {

using protocol::ConnectError;
using protocol::FakeAnswer;
using protocol::FakeCall;
using protocol::FakeFault;
using protocol::FakeNfs3;
using protocol::FakeNfs4;
using protocol::FakeServer;
using protocol::ServerAddress;
using protocol::Xdr;
using testing::HasSubstr;
using testing::Not;

constexpr int kForEver = 1'000'000;

ServerAddress At(uint16_t port, int version, std::optional<uint32_t> minor_version = {}) {
  return {"127.0.0.1", "/", port, port, version, minor_version};
}

// "4.1", "3", or the error.
std::string Agreed(const std::expected<Connected, ConnectError>& connected) {
  if (!connected) return std::make_error_code(connected.error().error).message();
  const ServerAddress& server = connected->server;
  return server.version == 3 ? "3" : fmt::format("4.{}", server.minor_version.value());
}
std::string Agreed(const ServerAddress& server) { return Agreed(Connect(server, {})); }

class ConnectTest : public testing::Test {
 protected:
  FakeNfs4 server_;
};

TEST_F(ConnectTest, AgreesOnTheLatestThatIsOfferedAndAllowed) {
  for (uint32_t set = 1; set < 8; ++set) {
    std::set<uint32_t> offered;
    for (uint32_t minor = 0; minor < 3; ++minor) {
      if ((set >> minor & 1) != 0) offered.insert(minor);
    }
    server_.Offer(offered);
    const std::string latest = fmt::format("4.{}", *offered.rbegin());
    EXPECT_EQ(Agreed(At(server_.port(), ServerAddress::kLatest)), latest) << set;
    EXPECT_EQ(Agreed(At(server_.port(), 4)), latest) << set;
    for (uint32_t minor = 0; minor < 3; ++minor) {
      const std::string agreed = Agreed(At(server_.port(), 4, minor));
      EXPECT_EQ(agreed,
                offered.contains(minor) ? fmt::format("4.{}", minor) : "Protocol not supported")
          << set << ' ' << minor;
    }
  }
}

TEST_F(ConnectTest, AMountKnowsWhatWasAgreedOn) {
  for (const uint32_t minor : {0u, 1u, 2u}) {
    server_.Offer({minor});
    const auto client =
        Client::Mount(*ParseMountUrl(fmt::format("nfs://127.0.0.1:{}/", server_.port())));
    ASSERT_TRUE(client.has_value()) << client.error().message;
    EXPECT_EQ((*client)->server().version, 4);
    EXPECT_EQ((*client)->server().minor_version, minor);
  }
}

// Servers of before RFC 5661 have various words for an operation they do not know.
TEST_F(ConnectTest, AServerWithoutSessionsIsAskedWithoutThem) {
  server_.Offer({0, 1, 2});
  for (const int status :
       {NFS4ERR_MINOR_VERS_MISMATCH, NFS4ERR_OP_ILLEGAL, NFS4ERR_NOTSUPP, NFS4ERR_INVAL}) {
    for (const int operation : {protocol::kOpExchangeId, protocol::kOpCreateSession}) {
      server_.Inject(operation, {.status = status}, 2);
      EXPECT_EQ(Agreed(At(server_.port(), 4)), "4.0") << operation << ' ' << status;
      server_.Inject(operation, {.status = status}, 1);
      EXPECT_EQ(Agreed(At(server_.port(), 4)), "4.1") << operation << ' ' << status;
    }
  }
}

// It may be right tomorrow: with an earlier version the mount would have other rules for good.
TEST_F(ConnectTest, AServerThatIsNotReadyIsNotAskedForLess) {
  server_.Offer({0, 1, 2});
  server_.Inject(protocol::kOpExchangeId, {.status = NFS4ERR_DELAY}, kForEver);
  const auto refused =
      Connect(At(server_.port(), ServerAddress::kLatest), {.mount_timeout_ms = 50});
  EXPECT_EQ(Agreed(refused), std::make_error_code(std::errc::timed_out).message());
  EXPECT_EQ(server_.calls(OP_LOOKUP), 0);
  server_.ClearFaults();
  server_.Inject(protocol::kOpExchangeId, {.status = NFS4ERR_IO}, kForEver);
  EXPECT_EQ(Agreed(At(server_.port(), ServerAddress::kLatest)), "Input/output error");
}

TEST_F(ConnectTest, AConnectionThatIsCutSaysNothingOfVersions) {
  FakeServer cut([](const FakeCall& call) {
    if (call.version == 4) return protocol::kHangUp;
    return call.procedure == 0 ? FakeAnswer{} : protocol::MountReply("root");
  });
  EXPECT_EQ(Agreed(At(cut.port(), ServerAddress::kLatest)), "Connection reset by peer");
}

TEST_F(ConnectTest, TheErrorIsTheFirstThatSaysMoreThanThatAVersionIsMissing) {
  server_.Offer({1, 2});
  server_.WithSessions([](protocol::FakeSessions& sessions) { sessions.slots_max = 0; });
  EXPECT_EQ(Agreed(At(server_.port(), 4)), "Protocol error");
}

TEST(ConnectToVersion3, IsTheLastThatIsTried) {
  FakeNfs3 server;
  EXPECT_EQ(Agreed(At(server.port(), ServerAddress::kLatest)), "3");
  EXPECT_EQ(Agreed(At(server.port(), 3)), "3");
  EXPECT_EQ(Agreed(At(server.port(), 4)), "Protocol not supported");
}

// A server of both versions that answers every COMPOUND with `status`, of its first operation.
FakeAnswer RefuseCompound(const FakeCall& call, int status) {
  constexpr uint32_t kCompound = 1;
  if (call.procedure != kCompound) return {};
  protocol::XdrReader arguments(call.arguments);
  arguments.Bytes();  // tag
  arguments.U32();    // minor version
  arguments.U32();    // operations
  const uint32_t operation = arguments.U32();
  return Reply(Xdr().U32(status).Bytes("").U32(1, operation, status));
}

TEST(ConnectToVersion3, IsTriedWhereVersion4DoesNotShowTheExport) {
  const struct {
    int status;
    bool tries;
  } rows[] = {{NFS4ERR_NOENT, true},    {NFS4ERR_ACCESS, true},     {NFS4ERR_PERM, true},
              {NFS4ERR_WRONGSEC, true}, {NFS4ERR_OP_ILLEGAL, true}, {NFS4ERR_IO, false},
              {NFS4ERR_NOTDIR, false},  {NFS4ERR_STALE, false},     {NFS4ERR_NAMETOOLONG, false}};
  for (const auto& row : rows) {
    int mounts = 0;
    FakeServer server([&](const FakeCall& call) {
      if (call.version == 4) return RefuseCompound(call, row.status);
      if (call.procedure == 0) return FakeAnswer{};
      ++mounts;
      return protocol::MountReply("root");
    });
    const std::string agreed = Agreed(At(server.port(), ServerAddress::kLatest));
    EXPECT_EQ(agreed == "3", row.tries) << row.status << ' ' << agreed;
    EXPECT_EQ(mounts > 0, row.tries) << row.status;
  }
}

// The cause is one: it is said once.
TEST(ConnectToVersion3, HasTheLastWordWhereVersion4IsNotThere) {
  FakeServer server([&](const FakeCall& call) {
    if (call.version == 4) return protocol::kVersionMismatch;
    if (call.procedure == 0) return FakeAnswer{};
    return Reply(Xdr().U32(NFS3ERR_ACCES));
  });
  const auto refused = Connect(At(server.port(), ServerAddress::kLatest), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error, std::errc::permission_denied);
  EXPECT_THAT(refused.error().message, HasSubstr("NFS version 4 on"));
  EXPECT_THAT(refused.error().message, HasSubstr("by version 3: "));
}

TEST(ConnectToVersion3, LeavesTheWordToVersion4WhereThatIsThere) {
  FakeServer server([&](const FakeCall& call) {
    if (call.version == 4) return RefuseCompound(call, NFS4ERR_NOENT);
    return protocol::kVersionMismatch;
  });
  const auto refused = Connect(At(server.port(), ServerAddress::kLatest), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error, std::errc::no_such_file_or_directory);
}

// The other versions are not tried at a host that is not known.
TEST_F(ConnectTest, AnUnknownHostIsNamedOnce) {
  ServerAddress address = At(2049, ServerAddress::kLatest);
  address.host = "no-such-host.invalid";
  const auto refused = Connect(address, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().error, std::errc::host_unreachable);
  EXPECT_THAT(refused.error().message, Not(HasSubstr("by version 3")));
}

}  // namespace
}  // namespace nfswalk
