#include "nfsclient/nfs3/mount3.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-portmap.h>
// clang-format on

#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "nfsclient/nfs3/decode.h"
#include "nfsclient/nfs3/encode.h"
#include "nfsclient/rpc/connection.h"
#include "nfsclient/rpc/failed_call.h"
#include "sunrpc_auth/auth_body.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::protocol {
namespace {

using Clock = rpc::Call::Clock;
using std::chrono::milliseconds;

constexpr uint16_t kPortmapperPort = 111;
constexpr uint32_t kVersion3 = 3;

milliseconds Until(Clock::time_point deadline) {
  return std::max(std::chrono::ceil<milliseconds>(deadline - Clock::now()), milliseconds{1});
}

// Executes `call` over a new connection.
std::expected<void, ConnectError> CallOnce(const rpc::Endpoint& endpoint,
                                           const std::string& service, const std::string& host,
                                           Clock::time_point deadline, rpc::Call& call) {
  const milliseconds left = Until(deadline);
  auto connection = rpc::Connection::Open(endpoint, {.connect = left, .silence = left});
  if (!connection) {
    return std::unexpected(
        ConnectError{connection.error(), "cannot make a socket for " + host + ": " +
                                             std::make_error_code(connection.error()).message()});
  }
  call.deadline = deadline;
  call.fail_if_unreachable = true;
  const rpc::Outcome outcome = (*connection)->Execute(call);
  if (outcome == rpc::Outcome::kReplied) return {};
  return std::unexpected(
      rpc::ExplainFailedCall(call, outcome, service + " version 3", host, endpoint.port));
}

ConnectError ExplainFailure(std::errc error, const MountPoint& point) {
  const std::string what = "export " + point.export_path + " on " + point.host + " (MOUNT port " +
                           std::to_string(point.port) + "): ";
  switch (error) {
    case std::errc::no_such_file_or_directory:
      return {error, what + "no such export; `showmount -e` lists what the server offers"};
    case std::errc::operation_not_permitted:
    case std::errc::permission_denied:
      return {std::errc::permission_denied,
              what + "permission denied; the export must exist and admit this client"};
    case std::errc::not_a_directory:
      return {error, what + "not a directory"};
    case std::errc::filename_too_long:
      return {error, what + "path too long"};
    case std::errc::invalid_argument:
      return {error, what + "the server finds the path invalid"};
    case std::errc::operation_not_supported:
      return {error, what + "the server does not support it"};
    default:
      return {std::errc::io_error, what + "the server failed (" +
                                       std::make_error_code(error).message() + "); see its log"};
  }
}

sunrpc_auth::AuthBody BodyOfProcess() {
  char name[sunrpc_auth::kMachineNameBytesMax + 1] = "";
  gethostname(name, sizeof name - 1);
  const auto body = sunrpc_auth::MarshalAuthBody(sunrpc_auth::Credential::OfProcess(), name, 0);
  return body.value_or(sunrpc_auth::AuthBody{});
}

// Sends a procedure of MOUNT for the export and decodes the results as those of MNT.
std::expected<ExportReply, ConnectError> CallMount(const MountPoint& point, uint32_t procedure,
                                                   Clock::time_point deadline) {
  const sunrpc_auth::AuthBody body = BodyOfProcess();
  const Arguments3 arguments(procedure, zdr_dirpath, const_cast<char*>(point.export_path.c_str()),
                             Arguments3::kSmallResultsBytes, sizeof(uint32_t) + MNTPATHLEN);
  rpc::Call call(arguments.request());
  call.auth = &body;
  const rpc::Endpoint endpoint{point.address, point.port, MOUNT_PROGRAM, MOUNT_V3};
  if (auto done = CallOnce(endpoint, "MOUNT", point.host, deadline, call); !done) {
    return std::unexpected(done.error());
  }
  rpc::XdrReader results = call.results();
  ExportReply reply;
  DecodeReply(results, reply);
  return reply;
}

}  // namespace

std::expected<uint16_t, ConnectError> QueryPortmapper(const std::string& host,
                                                      const std::string& address, uint32_t program,
                                                      const std::string& name,
                                                      Clock::time_point deadline) {
  const Arguments3 arguments(PMAP2_GETPORT, zdr_PMAP2GETPORTargs,
                             PMAP2GETPORTargs{program, kVersion3, IPPROTO_TCP, 0});
  rpc::Call call(arguments.request());
  const rpc::Endpoint endpoint{address, kPortmapperPort, PMAP_PROGRAM, PMAP_V2};
  if (auto done = CallOnce(endpoint, "portmapper", host, deadline, call); !done) {
    return std::unexpected(done.error());
  }
  const uint32_t port = call.results().U32();  // 0 if there is none
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
    return std::unexpected(ExplainFailure(std::errc::filename_too_long, point));
  }
  const auto reply = CallMount(point, MOUNT3_MNT, deadline);
  if (!reply) return std::unexpected(reply.error());
  if (reply->error != kOk) return std::unexpected(ExplainFailure(reply->error, point));
  if (!reply->flavor_ok) {
    return std::unexpected(
        ConnectError{std::errc::permission_denied,
                     "export " + point.export_path + " on " + point.host +
                         " admits neither AUTH_SYS nor AUTH_NONE; add sec=sys there"});
  }
  return reply->root;
}

void Unmount3(const MountPoint& point, Clock::time_point deadline) {
  (void)CallMount(point, MOUNT3_UMNT, deadline);
}

}  // namespace nfswalk::protocol
