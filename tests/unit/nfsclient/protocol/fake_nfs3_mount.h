// fake_nfs3_mount: an Nfs3 over a server of the test.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS3_MOUNT_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS3_MOUNT_H_

#include <cstdint>
#include <expected>
#include <memory>
#include <string_view>
#include <utility>

#include "nfsclient/protocol/nfs3.h"
#include "tests/unit/nfsclient/protocol/fake_nfs3.h"

namespace nfswalk::protocol {

inline const Credential kUser(1000, 100);

inline FileHandle HandleFrom(std::string_view bytes) {
  return FileHandle(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

inline std::expected<std::unique_ptr<Protocol>, ConnectError> Connect3(
    uint16_t nfs_port, uint16_t mount_port, const TransportOptions& options = {}) {
  return Nfs3::ConnectNfs3({"127.0.0.1", "/export", nfs_port, mount_port, 3}, options);
}
inline std::unique_ptr<Protocol> Mount3(uint16_t port, const TransportOptions& options = {}) {
  return std::move(Connect3(port, port, options).value());
}

// A tree and a mount of it.
struct MountedNfs3 {
  explicit MountedNfs3(const TransportOptions& options = {})
      : nfs(Mount3(server.port(), options)) {}

  FakeNfs3 server;
  const FileHandle root = HandleFrom(FakeNfs3::root_handle());
  const std::unique_ptr<Protocol> nfs;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_NFS3_MOUNT_H_
