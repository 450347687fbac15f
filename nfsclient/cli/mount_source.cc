#include "nfsclient/cli/mount_source.h"

#include <cstddef>

namespace nfswalk::cli {
namespace {

constexpr std::string_view kEndOfHost = ":/";

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

}  // namespace nfswalk::cli
