// ConnectNfs3(): resolves, pings and mounts.
// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/rpc/server_contact.h"

namespace nfswalk::protocol {
namespace {

using Clock = rpc::Call::Clock;
using std::chrono::milliseconds;

constexpr uint16_t kPortmapperPort = 111;
constexpr milliseconds kUnmountTimeout{1000};

// `like`: as for ResolveHost().
std::expected<rpc::ServerLocation, ConnectError> FindServer(const ServerAddress& server,
                                                            Clock::time_point deadline,
                                                            const std::string& like = "") {
  auto addresses = ResolveHost(server.host, deadline, like);
  if (!addresses) return std::unexpected(addresses.error());
  rpc::ServerLocation found{{}, server.nfs_port, server.mount_port};
  if (found.port == 0 || found.mount_port == 0) {
    auto address = FindListening(*addresses, kPortmapperPort, "portmapper", server.host, deadline);
    if (!address) {
      address.error().message += " Or give the server's ports (nfsport=, mountport=)";
      return std::unexpected(address.error());
    }
    const auto ask = [&](uint16_t& port, uint32_t program,
                         const char* name) -> std::expected<void, ConnectError> {
      if (port != 0) return {};
      const auto answer = QueryPortmapper(server.host, *address, program, name, deadline);
      if (!answer) return std::unexpected(answer.error());
      port = *answer;
      return {};
    };
    if (auto asked = ask(found.port, NFS_PROGRAM, "NFS"); !asked) {
      return std::unexpected(asked.error());
    }
    if (auto asked = ask(found.mount_port, MOUNT_PROGRAM, "MOUNT"); !asked) {
      return std::unexpected(asked.error());
    }
    *addresses = {*address};
  }
  auto address = FindListening(*addresses, found.port, "NFS", server.host, deadline);
  if (!address) return std::unexpected(address.error());
  auto mount = FindListening({*address}, found.mount_port, "MOUNT", server.host, deadline);
  if (!mount) return std::unexpected(mount.error());
  found.address = *address;
  return found;
}

}  // namespace

std::expected<std::unique_ptr<Protocol>, ConnectError> Nfs3::ConnectNfs3(
    const ServerAddress& server, const TransportOptions& options,
    std::optional<Clock::time_point> given) {
  const milliseconds timeout{options.mount_timeout_ms};
  const Clock::time_point deadline = given.value_or(Clock::now() + timeout);
  const auto found = FindServer(server, deadline);
  if (!found) return std::unexpected(found.error());

  auto locator =
      std::make_shared<rpc::ServerLocator>(*found, [=](const rpc::ServerLocation& known) {
        return FindServer(server, Clock::now() + timeout, known.address);
      });
  auto caller =
      rpc::Caller::Open({found->address, found->port, NFS_PROGRAM, NFS_V3}, options, locator);
  if (!caller) {
    return std::unexpected(
        ConnectError{caller.error(), "cannot make a socket for " + server.host + ": " +
                                         std::make_error_code(caller.error()).message()});
  }
  if (auto seen = (*caller)->Ping("NFS version 3", server.host, deadline); !seen) {
    return std::unexpected(seen.error());
  }
  MountPoint point{server.host, found->address, found->mount_port, server.export_path};
  auto root = Mount3(point, deadline);
  if (!root) return std::unexpected(root.error());
  return std::unique_ptr<Protocol>(
      new Nfs3(std::move(point), std::move(locator), *root, std::move(*caller), deadline));
}

Nfs3::Nfs3(MountPoint mount_point, std::shared_ptr<rpc::ServerLocator> locator,
           const FileHandle& root, std::unique_ptr<rpc::Caller> caller,
           Clock::time_point mount_deadline)
    : mount_point_(std::move(mount_point)),
      locator_(std::move(locator)),
      root_(root),
      caller_(std::move(caller)),
      mount_deadline_(mount_deadline) {}

Nfs3::~Nfs3() {
  Shutdown();
  const auto now = locator_->Current();
  mount_point_.address = now->address;
  mount_point_.port = now->mount_port;
  Unmount3(mount_point_, Clock::now() + kUnmountTimeout);
}

}  // namespace nfswalk::protocol
