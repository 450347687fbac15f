// ConnectNfs3(): resolves, pings and mounts.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/protocol/failed_call.h"
#include "nfsclient/protocol/nfs3.h"
#include "nfsclient/protocol/server_contact.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

namespace nfswalk::protocol {
namespace {

using Clock = RpcCall::Clock;
using std::chrono::milliseconds;

constexpr uint16_t kPortmapperPort = 111;
constexpr milliseconds kUnmountTimeout{1000};

struct Ports {
  std::string address;
  uint16_t nfs = 0;
  uint16_t mount = 0;
};

std::expected<Ports, ConnectError> FindPorts(const ServerAddress& server,
                                             Clock::time_point deadline) {
  auto addresses = ResolveHost(server.host, deadline);
  if (!addresses) return std::unexpected(addresses.error());
  Ports ports{{}, server.nfs_port, server.mount_port};
  if (ports.nfs == 0 || ports.mount == 0) {
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
    if (auto asked = ask(ports.nfs, NFS_PROGRAM, "NFS"); !asked) {
      return std::unexpected(asked.error());
    }
    if (auto asked = ask(ports.mount, MOUNT_PROGRAM, "MOUNT"); !asked) {
      return std::unexpected(asked.error());
    }
    *addresses = {*address};
  }
  auto address = FindListening(*addresses, ports.nfs, "NFS", server.host, deadline);
  if (!address) return std::unexpected(address.error());
  auto mount = FindListening({*address}, ports.mount, "MOUNT", server.host, deadline);
  if (!mount) return std::unexpected(mount.error());
  ports.address = *address;
  return ports;
}

// Sends a NULL call.
std::expected<void, ConnectError> PingNfs(RpcCaller& caller, const ServerAddress& server,
                                          uint16_t port, Clock::time_point deadline) {
  CallOf null_call([](rpc_context* rpc, ReplyCallback callback,
                      void* data) { return rpc_nfs3_null_async(rpc, callback, data); },
                   [](const void*) {});
  null_call.deadline = deadline;
  null_call.fail_if_unreachable = true;
  const CallOutcome outcome = caller.Probe(null_call);
  if (outcome == CallOutcome::kReplied) return {};
  return std::unexpected(ExplainFailedCall(null_call, outcome, "NFS version 3", server.host, port));
}

}  // namespace

std::expected<std::unique_ptr<Protocol>, ConnectError> Nfs3::ConnectNfs3(
    const ServerAddress& server, const TransportOptions& options) {
  const Clock::time_point deadline = Clock::now() + milliseconds{options.mount_timeout_ms};
  auto ports = FindPorts(server, deadline);
  if (!ports) return std::unexpected(ports.error());

  auto caller = RpcCaller::Open({ports->address, ports->nfs, NFS_PROGRAM, NFS_V3}, options);
  if (!caller) {
    return std::unexpected(
        ConnectError{caller.error(), "cannot start an I/O thread for " + server.host + ": " +
                                         std::make_error_code(caller.error()).message()});
  }
  if (auto seen = PingNfs(**caller, server, ports->nfs, deadline); !seen) {
    return std::unexpected(seen.error());
  }
  MountPoint point{server.host, ports->address, ports->mount, server.export_path};
  auto root = Mount3(point, deadline);
  if (!root) return std::unexpected(root.error());
  return std::unique_ptr<Protocol>(new Nfs3(std::move(point), *root, std::move(*caller), deadline));
}

Nfs3::Nfs3(MountPoint mount_point, const FileHandle& root, std::unique_ptr<RpcCaller> caller,
           Clock::time_point mount_deadline)
    : mount_point_(std::move(mount_point)),
      root_(root),
      caller_(std::move(caller)),
      mount_deadline_(mount_deadline) {}

Nfs3::~Nfs3() {
  Shutdown();
  Unmount3(mount_point_, Clock::now() + kUnmountTimeout);
}

}  // namespace nfswalk::protocol
