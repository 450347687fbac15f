#include "nfsclient/api/connect.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/nfs4.h"

namespace nfswalk {
namespace {

using protocol::ConnectError;
using protocol::ServerAddress;
using protocol::TransportOptions;
using Clock = std::chrono::steady_clock;
using Connection = std::expected<Connected, ConnectError>;

// Whether a server that refuses a minor version so may offer an earlier one. Servers that do not
// know EXCHANGE_ID have various words for that; protocol_error: its sessions are of no use.
bool ConcernsMinorVersion(std::errc error) {
  switch (error) {
    case std::errc::protocol_not_supported:
    case std::errc::operation_not_supported:
    case std::errc::invalid_argument:
    case std::errc::protocol_error:
      return true;
    default:
      return false;
  }
}

// Whether it may offer the export by version 3. Not what may be right in a moment: an earlier
// version would have other rules for the life of the mount.
bool ConcernsVersion4(std::errc error) {
  switch (error) {
    case std::errc::connection_refused:
    case std::errc::no_such_file_or_directory:
    case std::errc::permission_denied:
    case std::errc::operation_not_permitted:
      return true;
    default:
      return ConcernsMinorVersion(error);
  }
}

Connection TryVersion(ServerAddress server, int version, uint32_t minor_version,
                      const TransportOptions& options, Clock::time_point deadline) {
  server.version = version;
  server.minor_version = minor_version;
  auto protocol = version == 4 ? protocol::Nfs4::ConnectNfs4(server, options, deadline)
                               : protocol::Nfs3::ConnectNfs3(server, options, deadline);
  if (!protocol) return std::unexpected(std::move(protocol.error()));
  return Connected{std::move(*protocol), std::move(server)};
}

// The error is the first that says more than that a minor version is not offered.
Connection TryVersion4(const ServerAddress& server, const TransportOptions& options,
                       Clock::time_point deadline) {
  std::optional<ConnectError> refusal;
  for (const uint32_t minor_version : {2u, 1u, 0u}) {
    if (server.minor_version && *server.minor_version != minor_version) continue;
    auto connection = TryVersion(server, 4, minor_version, options, deadline);
    if (connection) return connection;
    const std::errc error = connection.error().error;
    if (!refusal || refusal->error == std::errc::protocol_not_supported) {
      refusal = std::move(connection.error());
    }
    if (!ConcernsMinorVersion(error)) break;
  }
  return std::unexpected(std::move(*refusal));
}

// Joins the refusals of a mount: the last word is version 3's where version 4 is not there at all.
ConnectError Joined(const ConnectError& of_4, const ConnectError& of_3) {
  const bool is_absent =
      ConcernsMinorVersion(of_4.error) || of_4.error == std::errc::connection_refused;
  return {is_absent ? of_3.error : of_4.error, of_4.message + "; by version 3: " + of_3.message};
}

}  // namespace

Connection Connect(const ServerAddress& server, const TransportOptions& options) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::milliseconds(options.mount_timeout_ms);
  if (server.version == 3) return TryVersion(server, 3, 0, options, deadline);
  auto by_4 = TryVersion4(server, options, deadline);
  if (by_4 || server.version == 4 || !ConcernsVersion4(by_4.error().error)) return by_4;
  auto by_3 = TryVersion(server, 3, 0, options, deadline);
  if (!by_3) return std::unexpected(Joined(by_4.error(), by_3.error()));
  if (by_4.error().error == std::errc::connection_refused) {
    // A server that was just starting listens on both ports by now.
    auto again = TryVersion4(server, options, deadline);
    if (again) return again;
  }
  return by_3;
}

}  // namespace nfswalk
