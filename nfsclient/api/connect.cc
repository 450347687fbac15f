#include "nfsclient/api/connect.h"

#include <algorithm>
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
using Clock = std::chrono::steady_clock;

struct Version {
  int version;
  uint32_t minor_version;

  bool IsAllowedBy(const ServerAddress& server) const {
    if (server.version != ServerAddress::kLatest && server.version != version) return false;
    return version == 3 || !server.minor_version || *server.minor_version == minor_version;
  }
};
constexpr Version kLatestFirst[] = {{4, 2}, {4, 1}, {4, 0}, {3, 0}};

// Whether a server that refuses a minor version so may offer an earlier one. Servers that do not
// know EXCHANGE_ID have various words for that.
bool ConcernsMinorVersion(std::errc error) {
  switch (error) {
    case std::errc::protocol_not_supported:
    case std::errc::operation_not_supported:
    case std::errc::invalid_argument:
    case std::errc::protocol_error:
    case std::errc::io_error:
      return true;
    default:
      return false;
  }
}

// Whether it may offer the export by version 3.
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

// Joins the refusals of a mount: the last word is version 3's where version 4 is not there at all.
ConnectError Joined(std::optional<ConnectError> before, ConnectError last) {
  if (!before || before->message == last.message) return last;
  const bool is_absent =
      ConcernsMinorVersion(before->error) || before->error == std::errc::connection_refused;
  return {is_absent ? last.error : before->error,
          before->message + "; by version 3: " + last.message};
}

}  // namespace

std::expected<Connected, ConnectError> Connect(const ServerAddress& server,
                                               const protocol::TransportOptions& options) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::milliseconds(options.mount_timeout_ms);
  std::optional<ConnectError> refusal;  // the latest, of version 4
  for (const Version& tried : kLatestFirst) {
    if (!tried.IsAllowedBy(server)) continue;
    if (refusal && tried.version == 4 && !ConcernsMinorVersion(refusal->error)) continue;
    Connected connection{nullptr, server};
    connection.server.version = tried.version;
    connection.server.minor_version = tried.minor_version;
    protocol::TransportOptions within = options;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    within.mount_timeout_ms = static_cast<uint32_t>(std::max<int64_t>(left.count(), 0));
    auto protocol = tried.version == 4 ? protocol::Nfs4::ConnectNfs4(connection.server, within)
                                       : protocol::Nfs3::ConnectNfs3(connection.server, within);
    if (protocol) {
      connection.protocol = std::move(*protocol);
      return connection;
    }
    if (tried.version == 3) return std::unexpected(Joined(std::move(refusal), protocol.error()));
    refusal = std::move(protocol.error());
    if (!ConcernsVersion4(refusal->error)) break;
  }
  return std::unexpected(std::move(*refusal));
}

}  // namespace nfswalk
