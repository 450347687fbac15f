#include "nfsclient/cli/mount_source.h"

#include <strings.h>

#include <cstddef>
#include <cstdint>

#include "nfsclient/client.h"

namespace nfswalk::cli {
namespace {

constexpr std::string_view kEndOfHost = ":/";
constexpr uint16_t kNfsPort = 2049;

}  // namespace

bool IsDevice(std::string_view text) {
  const size_t end = text.find(kEndOfHost);
  if (end == 0 || end == std::string_view::npos) return false;
  // "://" ends the scheme of a URL.
  if (text.substr(end).starts_with("://")) return false;
  const std::string_view host = text.substr(0, end);
  if (host.starts_with('[')) return host.ends_with(']') && host.find('/') == std::string_view::npos;
  return host.find_first_of("/:") == std::string_view::npos;
}

std::string UrlOf(std::string_view source) {
  if (!IsDevice(source)) return std::string(source);
  const size_t end = source.find(kEndOfHost);
  std::string url = "nfs://";
  url += source.substr(0, end);
  for (const char byte : source.substr(end + 1)) {
    switch (byte) {
      case '%': url += "%25"; break;
      case '?': url += "%3F"; break;
      default: url += byte;
    }
  }
  return url;
}

bool NameSameExport(std::string_view a, std::string_view b) {
  const auto first = ParseMountUrl(UrlOf(a)), second = ParseMountUrl(UrlOf(b));
  if (!first || !second) return a == b;
  const auto port_of = [](const MountOptions& mount) {
    return mount.server.nfs_port == 0 ? kNfsPort : mount.server.nfs_port;
  };
  return strcasecmp(first->server.host.c_str(), second->server.host.c_str()) == 0 &&
         first->server.export_path == second->server.export_path &&
         port_of(*first) == port_of(*second);
}

bool MayBeSameServer(const protocol::ServerAddress& a, const protocol::ServerAddress& b) {
  return a.host == b.host && (a.nfs_port == b.nfs_port || a.nfs_port == 0 || b.nfs_port == 0);
}

}  // namespace nfswalk::cli
