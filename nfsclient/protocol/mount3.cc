#include "nfsclient/protocol/mount3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-portmap.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "nfsclient/protocol/failed_call.h"
#include "sunrpc_auth/auth_body.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {
namespace {

using Clock = RpcCall::Clock;
using std::chrono::milliseconds;

constexpr uint16_t kPortmapperPort = 111;
constexpr int kVersion3 = 3;
constexpr int kAuthNone = 0;
constexpr int kAuthSys = 1;

milliseconds Until(Clock::time_point deadline) {
  return std::max(std::chrono::ceil<milliseconds>(deadline - Clock::now()), milliseconds{1});
}

// Executes `call` over a new connection.
std::expected<void, ConnectError> CallOnce(const RpcEndpoint& endpoint, const std::string& service,
                                           const std::string& host, Clock::time_point deadline,
                                           RpcCall& call) {
  auto channel = RpcChannel::Open(endpoint, Until(deadline));
  if (!channel) {
    return std::unexpected(ConnectError{
        channel.error(),
        "cannot start an I/O thread: " + std::make_error_code(channel.error()).message()});
  }
  call.deadline = deadline;
  call.fail_if_unreachable = true;
  const CallOutcome outcome = (*channel)->Execute(call);
  if (outcome == CallOutcome::kReplied) return {};
  return std::unexpected(
      ExplainFailedCall(call, outcome, service + " version 3", host, endpoint.port));
}

struct MountReply {
  bool parsed = false;
  mountstat3 status = MNT3ERR_SERVERFAULT;
  bool flavor_ok = false;
  FileHandle root;
};

MountReply Decode(const mountres3* result) {
  MountReply reply;
  if (result == nullptr) return reply;
  reply.parsed = true;
  reply.status = result->fhs_status;
  if (reply.status != MNT3_OK) return reply;
  const mountres3_ok& ok = result->mountres3_u.mountinfo;
  const uint32_t size = ok.fhandle.fhandle3_len;
  reply.parsed = size > 0 && size <= FHSIZE3 && ok.fhandle.fhandle3_val != nullptr;
  if (!reply.parsed) return reply;
  reply.root = FileHandle({reinterpret_cast<const uint8_t*>(ok.fhandle.fhandle3_val), size});
  // Servers older than RFC 2623 send an empty list.
  reply.flavor_ok = ok.auth_flavors.auth_flavors_len == 0;
  for (uint32_t i = 0; i < ok.auth_flavors.auth_flavors_len; ++i) {
    const int flavor = ok.auth_flavors.auth_flavors_val[i];
    reply.flavor_ok |= flavor == kAuthNone || flavor == kAuthSys;
  }
  return reply;
}

ConnectError ExplainStatus(mountstat3 status, const MountPoint& point) {
  const std::string what = "export " + point.export_path + " on " + point.host + " (MOUNT port " +
                           std::to_string(point.port) + "): ";
  switch (status) {
    case MNT3ERR_NOENT:
      return {std::errc::no_such_file_or_directory,
              what + "no such export; `showmount -e` lists what the server offers"};
    case MNT3ERR_PERM:
    case MNT3ERR_ACCES:
      return {std::errc::permission_denied,
              what + "permission denied; the export must exist and admit this client"};
    case MNT3ERR_NOTDIR:
      return {std::errc::not_a_directory, what + "not a directory"};
    case MNT3ERR_NAMETOOLONG:
      return {std::errc::filename_too_long, what + "path too long"};
    case MNT3ERR_INVAL:
      return {std::errc::invalid_argument, what + "the server finds the path invalid"};
    case MNT3ERR_NOTSUPP:
      return {std::errc::operation_not_supported, what + "the server does not support it"};
    default:
      return {std::errc::io_error, what + "the server failed (mountstat3 " +
                                       std::to_string(static_cast<int>(status)) + "); see its log"};
  }
}

sunrpc_auth::AuthBody BodyOfProcess() {
  char name[sunrpc_auth::kMachineNameBytesMax + 1] = "";
  gethostname(name, sizeof name - 1);
  const auto body = sunrpc_auth::MarshalAuthBody(sunrpc_auth::Credential::OfProcess(), name, 0);
  return body.value_or(sunrpc_auth::AuthBody{});
}

}  // namespace

std::expected<uint16_t, ConnectError> QueryPortmapper(const std::string& host,
                                                      const std::string& address, uint32_t program,
                                                      const std::string& name,
                                                      Clock::time_point deadline) {
  uint32_t port = 0;
  CallOf call(
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_pmap2_getport_async(rpc, static_cast<int>(program), kVersion3, IPPROTO_TCP,
                                       callback, data);
      },
      [&](const void* result) {
        if (result != nullptr) port = *static_cast<const uint32_t*>(result);
      });
  const RpcEndpoint endpoint{address, kPortmapperPort, PMAP_PROGRAM, PMAP_V2};
  if (auto done = CallOnce(endpoint, "portmapper", host, deadline, call); !done) {
    return std::unexpected(done.error());
  }
  if (port == 0 || port > 0xffff) {
    return std::unexpected(
        ConnectError{std::errc::protocol_not_supported,
                     name + " version 3 over TCP is not registered with the portmapper on " + host +
                         "; start the server, or give its ports (nfsport=, mountport=)"});
  }
  return static_cast<uint16_t>(port);
}

std::expected<FileHandle, ConnectError> Mount3(const MountPoint& point,
                                               Clock::time_point deadline) {
  if (point.export_path.size() > MNTPATHLEN) {
    return std::unexpected(ExplainStatus(MNT3ERR_NAMETOOLONG, point));
  }
  const sunrpc_auth::AuthBody body = BodyOfProcess();
  MountReply reply;
  CallOf call(
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_mount3_mnt_async(rpc, callback, const_cast<char*>(point.export_path.c_str()),
                                    data);
      },
      [&](const void* result) { reply = Decode(static_cast<const mountres3*>(result)); });
  call.auth = &body;
  const RpcEndpoint endpoint{point.address, point.port, MOUNT_PROGRAM, MOUNT_V3};
  if (auto done = CallOnce(endpoint, "MOUNT", point.host, deadline, call); !done) {
    return std::unexpected(done.error());
  }
  if (!reply.parsed) return std::unexpected(ExplainStatus(MNT3ERR_IO, point));
  if (reply.status != MNT3_OK) return std::unexpected(ExplainStatus(reply.status, point));
  if (!reply.flavor_ok) {
    return std::unexpected(
        ConnectError{std::errc::permission_denied,
                     "export " + point.export_path + " on " + point.host +
                         " admits neither AUTH_SYS nor AUTH_NONE; add sec=sys there"});
  }
  return reply.root;
}

void Unmount3(const MountPoint& point, Clock::time_point deadline) {
  const sunrpc_auth::AuthBody body = BodyOfProcess();
  CallOf call(
      [&](rpc_context* rpc, ReplyCallback callback, void* data) {
        return rpc_mount3_umnt_async(rpc, callback, const_cast<char*>(point.export_path.c_str()),
                                     data);
      },
      [](const void*) {});
  call.auth = &body;
  const RpcEndpoint endpoint{point.address, point.port, MOUNT_PROGRAM, MOUNT_V3};
  (void)CallOnce(endpoint, "MOUNT", point.host, deadline, call);
}

}  // namespace nfswalk::protocol
