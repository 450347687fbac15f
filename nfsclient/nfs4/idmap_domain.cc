#include "nfsclient/nfs4/idmap_domain.h"

#include <netdb.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>
#include <iterator>

namespace nfswalk::protocol {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool IsWord(std::string_view text, std::string_view word) {
  return text.size() == word.size() && strncasecmp(text.data(), word.data(), word.size()) == 0;
}

std::string AfterFirstDot(std::string_view host) {
  const size_t dot = host.find('.');
  return dot == host.npos ? std::string() : std::string(host.substr(dot + 1));
}

std::string DnsDomain() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return {};
  if (std::string domain = AfterFirstDot(host.data()); !domain.empty()) return domain;
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.data(), nullptr, &hints, &found) != 0) return {};
  std::string domain = found->ai_canonname ? AfterFirstDot(found->ai_canonname) : std::string();
  freeaddrinfo(found);
  return domain;
}

}  // namespace

std::optional<std::string> ConfiguredIdmapDomain(std::string_view idmapd_conf) {
  bool in_general = false;
  while (!idmapd_conf.empty()) {
    const size_t end = std::min(idmapd_conf.find('\n'), idmapd_conf.size());
    const std::string_view line = Trimmed(idmapd_conf.substr(0, end));
    idmapd_conf.remove_prefix(std::min(end + 1, idmapd_conf.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      in_general =
          line.back() == ']' && IsWord(Trimmed(line.substr(1, line.size() - 2)), "General");
      continue;
    }
    const size_t equals = line.find('=');
    if (!in_general || equals == line.npos) continue;
    const std::string_view value = Trimmed(line.substr(equals + 1));
    if (IsWord(Trimmed(line.substr(0, equals)), "Domain") && !value.empty()) {
      return std::string(value);
    }
  }
  return std::nullopt;
}

std::string SystemIdmapDomain() {
  std::ifstream file("/etc/idmapd.conf");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (std::optional<std::string> domain = ConfiguredIdmapDomain(text)) return *std::move(domain);
  std::string domain = DnsDomain();
  return domain.empty() ? "localdomain" : domain;
}

}  // namespace nfswalk::protocol
