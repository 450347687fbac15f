// Byte-range locks of version 4 over a restart of a real server.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nfsclient/client.h"
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
  std::unique_ptr<Client> Mount() const {
    const fixtures::NfsServer::NetworkScope scope(*server_);
    auto client = Client::Mount(ParseMountUrl(server_->Url("", 4)).value());
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
  constexpr std::string_view kText = "late";
  EXPECT_EQ(my_file_->PWrite(std::as_bytes(std::span(kText)), 0), kText.size());
  EXPECT_EQ(my_file_->Sync(), std::errc::io_error);
  EXPECT_EQ(your_file_->TryLock(kMe, kWrite, 0, 0), kOk);
  EXPECT_EQ(my_file_->Unlock(kMe, 0, 0), kOk);
  EXPECT_EQ(ErrorOfRead(*my_file_), kOk);
  EXPECT_EQ(my_file_->TryLock(kMe, kWrite, 0, 10), kDenied);
  std::string text;
  std::ifstream(server_->backing_directory() + "/file") >> text;
  EXPECT_EQ(text, "hello");
}

}  // namespace
}  // namespace nfswalk
