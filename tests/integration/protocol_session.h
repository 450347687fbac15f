// protocol_session: a real server and a mount of its export, for the protocol_*_test.cc here.
#ifndef NFSWALK_TESTS_INTEGRATION_PROTOCOL_SESSION_H_
#define NFSWALK_TESTS_INTEGRATION_PROTOCOL_SESSION_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "nfsclient/protocol/nfs3.h"
#include "nfsclient/protocol/nfs4.h"
#include "tests/fixtures/ganesha_server.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk::protocol {

inline const Credential kRoot(0, 0);
inline const Credential kUser(1234, 1234);

class ProtocolSession : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto started = fixtures::GaneshaServer::Start();
    ASSERT_TRUE(started.has_value()) << started.error();
    server_ = std::move(*started);
    auto connected = Connect({});
    ASSERT_TRUE(connected.has_value()) << connected.error().message;
    nfs_ = std::move(*connected);
    root_ = nfs_->GetRoot(kRoot).handle;
  }

  // Connects once more. The connections stay in the server's network namespace.
  std::expected<std::unique_ptr<Protocol>, ConnectError> Connect(const TransportOptions& options) {
    return Connect(Address(), options);
  }
  std::expected<std::unique_ptr<Protocol>, ConnectError> Connect(const ServerAddress& address,
                                                                 const TransportOptions& options) {
    const fixtures::GaneshaServer::NetworkScope inside(*server_);
    return address.version == 3 ? Nfs3::ConnectNfs3(address, options)
                                : Nfs4::ConnectNfs4(address, options);
  }
  ServerAddress Address() const {
    return {server_->host(), server_->export_path(), server_->nfs_port(), server_->mount_port(),
            GetParam()};
  }
  // Returns the number of retransmissions of `protocol`. Preconditions: it is from Connect().
  static uint64_t Retries(const Protocol& protocol) {
    return GetParam() == 3 ? static_cast<const Nfs3&>(protocol).retries()
                           : static_cast<const Nfs4&>(protocol).retries();
  }

  FileHandle MakeFile(const std::string& name) {
    const CreateReply made =
        nfs_->Create(root_, name, CreateMode::kUnchecked, {.mode = 0644}, kRoot);
    EXPECT_EQ(made.error, kOk);
    return made.handle.value_or(FileHandle());
  }

  static int version() { return GetParam(); }
  fixtures::GaneshaServer& server() { return *server_; }
  Protocol& nfs() { return *nfs_; }
  const FileHandle& root() const { return root_; }

 private:
  std::unique_ptr<fixtures::GaneshaServer> server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_INTEGRATION_PROTOCOL_SESSION_H_
