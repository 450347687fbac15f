// Byte-range locks of version 4 over a restart of a real server, and over a connection that dies.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nfsclient/client.h"
#include "tests/fixtures/cutting_proxy.h"
#include "tests/fixtures/nfs_server.h"

namespace nfswalk {
namespace {

constexpr std::errc kDenied = std::errc::resource_unavailable_try_again;
constexpr LockType kWrite = LockType::kWrite;
constexpr uint64_t kMe = 1;

class LockRecovery : public testing::Test {
 protected:
  void Start(uint32_t grace_seconds) {
    auto started = fixtures::NfsServer::Start(
        {.grace_seconds = grace_seconds, .lease_seconds = grace_seconds == 0 ? 60 : grace_seconds});
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
    const std::string path = server_->backing_directory() + "/file";
    std::ofstream(path) << "hello";
    ASSERT_EQ(chmod(path.c_str(), 0666), 0);
    mine_ = Mount();
    yours_ = Mount();
    ASSERT_TRUE(mine_ && yours_);
    my_file_ = Open(*mine_);
    your_file_ = Open(*yours_);
    ASSERT_TRUE(my_file_ && your_file_);
  }
  void TearDown() override {
    my_file_.reset();
    your_file_.reset();
  }
  // `port`: of a proxy; 0: the server's.
  std::unique_ptr<Client> Mount(uint16_t port = 0) const {
    const fixtures::NfsServer::NetworkScope scope(*server_);
    const std::string options = port == 0 ? "" : "port=" + std::to_string(port);
    auto client = Client::Mount(ParseMountUrl(server_->Url(options, 4)).value());
    EXPECT_TRUE(client.has_value()) << client.error().message;
    return client ? std::move(*client) : nullptr;
  }
  std::unique_ptr<File> Open(Client& client) const {
    auto file = client.Open("file", kMayRead | kMayWrite, root_);
    EXPECT_TRUE(file.has_value());
    return file ? std::move(*file) : nullptr;
  }
  void Restart() {
    server_->Kill();
    ASSERT_EQ(server_->Restart(), "");
  }
  static std::errc ErrorOfRead(File& file) {
    std::array<std::byte, 16> data;
    const auto count = file.PRead(data, 0);
    return count ? kOk : count.error();
  }

  const Credential root_{0, 0};
  std::unique_ptr<fixtures::NfsServer> server_;
  std::optional<fixtures::CuttingProxy> proxy_;
  std::unique_ptr<Client> mine_, yours_;
  std::unique_ptr<File> my_file_, your_file_;
};

// WIRE-26. A LOCK of another client is answered after the grace period.
TEST_F(LockRecovery, HeldLocksAreReclaimedAndNobodyStealsThem) {
  ASSERT_NO_FATAL_FAILURE(Start(3));
  ASSERT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kOk);
  ASSERT_EQ(my_file_->TryLock(kMe, kWrite, 20, 10), kOk);
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(ErrorOfRead(*my_file_), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 0, 10), kDenied);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 29, 1), kDenied);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 10, 10), kOk);
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 10), kOk);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 0, 10), kOk);
}

TEST_F(LockRecovery, WithoutAGracePeriodLocksAreLostAndSaidToBe) {
  ASSERT_NO_FATAL_FAILURE(Start(0));
  ASSERT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kOk);
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(ErrorOfRead(*my_file_), std::errc::io_error);
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 20, 10), std::errc::io_error);
  EXPECT_EQ(my_file_->PWrite(std::as_bytes(std::span("late")), 0),
            std::unexpected(std::errc::io_error));
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 0, 0), kOk);
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  EXPECT_EQ(ErrorOfRead(*my_file_), kOk);
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kDenied);
  std::string text;
  std::ifstream(server_->backing_directory() + "/file") >> text;
  EXPECT_EQ(text, "hello");
}

// The call that renews the lease and does nothing else.
const std::string_view kRenewal =
    std::getenv("NFSWALK_MINOR_VERSION") == nullptr ? "RENEW" : "SEQUENCE";

uint64_t RepliesOf(const Client& client, std::string_view procedure = "") {
  uint64_t replies = 0;
  for (const auto& stats : client.transport_stats().procedures) {
    if (procedure.empty() || stats.name == procedure) replies += stats.replies;
  }
  return replies;
}

// WIRE-33. No FIN and no RST says so, as where a NAT has forgotten the connection: without a limit
// of its own a renewal would wait for timeo, a minute, and the server give the lock away.
TEST_F(LockRecovery, ALockOutlivesAConnectionThatDiesSilently) {
  using fixtures::ConnectionFate;
  using fixtures::CuttingProxy;
  constexpr uint32_t kGraceSeconds = 6, kRenewalsOfALease = 3;
  ASSERT_NO_FATAL_FAILURE(Start(kGraceSeconds));
  const auto lock = [&](const Client& client, File& file) {
    EXPECT_EQ(file.TryLock(kMe, kWrite, 0, 10), kOk);
    return RepliesOf(client);
  };
  // As many as there are until it is locked, and one renewal.
  const auto records = static_cast<uint32_t>(lock(*mine_, *my_file_)) + 1;
  my_file_.reset();
  int connections = 0;  // the first one looks whether something listens
  {
    const fixtures::NfsServer::NetworkScope scope(*server_);
    proxy_.emplace(
        server_->nfs_port(),
        CuttingProxy::Listeners{.fate =
                                    [&] {
                                      return ConnectionFate{
                                          .records = ++connections == 2 ? records : 1'000'000,
                                          .ending = ConnectionFate::Ending::kStall};
                                    },
                                .on_cut = [] {},
                                .on_connected = [] {}});
  }
  mine_ = Mount(proxy_->port());
  my_file_ = Open(*mine_);
  lock(*mine_, *my_file_);
  proxy_->AwaitStall();
  const uint64_t renewals = RepliesOf(*mine_, kRenewal) + 2 * kRenewalsOfALease;
  while (RepliesOf(*mine_, kRenewal) < renewals) {
    ASSERT_EQ(your_file_->TryLock(kMe, kWrite, 0, 10), kDenied);
  }
  EXPECT_EQ(mine_->transport_stats().connections_opened, 2u);
  EXPECT_EQ(my_file_->PWrite(std::as_bytes(std::span("mine")), 0), 5u);
  EXPECT_EQ(my_file_->Sync(), kOk);
}

}  // namespace
}  // namespace nfswalk
