#include "nfsclient/superblock/inert_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace nfswalk::nfs {
namespace {

using Status = std::expected<void, std::string>;

enum class Values {
  kNone,   // a flag
  kAny,    // any text
  kCount,  // decimal digits
  kOneOf,  // one of `accepted`
  kAmong,  // a list with colons, one of which is in `accepted`
};

struct InertOption {
  std::string_view name;
  Values values = Values::kNone;
  std::string_view accepted = {};  // separated by spaces; with kNone: empty, or "yes"
  std::string_view instead = {};   // what to do where it is refused
};

constexpr std::string_view kYes = "yes";

constexpr InertOption Accepted(std::string_view name) { return {name, Values::kNone, kYes}; }
constexpr InertOption Refused(std::string_view name, std::string_view instead) {
  return {name, Values::kNone, {}, instead};
}

constexpr std::string_view kTcp =
    "only TCP is spoken, to the address that the host has: tcp, or leave it out";
constexpr std::string_view kNoKerberos =
    "only AUTH_SYS is sent: sec=sys, or the kernel's client for Kerberos";
constexpr std::string_view kMountd = "MOUNT 3 is asked at the server itself: leave it out";
constexpr std::string_view kNoTls =
    "nothing is encrypted: a tunnel, or the kernel's client for RPC-with-TLS";

constexpr InertOption kOptions[] = {
    {"sec", Values::kAmong, "sys", kNoKerberos},
    {"proto", Values::kOneOf, "tcp", kTcp},
    Accepted("tcp"),
    Refused("udp", kTcp),
    Refused("rdma", kTcp),
    {"mountproto", Values::kOneOf, "tcp", kTcp},
    {"mountvers", Values::kOneOf, "3", kMountd},
    {"mounthost", Values::kOneOf, "", kMountd},
    {"mountaddr", Values::kOneOf, "", kMountd},
    {"addr", Values::kAny},
    {"clientaddr", Values::kAny},
    {"namlen", Values::kOneOf, "255", "names have 255 bytes: namlen=255, or leave it out"},
    Accepted("intr"),
    Accepted("nointr"),
    Accepted("fg"),
    Accepted("bg"),
    {"retry", Values::kCount},
    Accepted("resvport"),
    Accepted("noresvport"),
    Accepted("nosharecache"),
    Refused("sharecache", "each mount has caches of its own: nosharecache, or leave it out"),
    Accepted("nosoftreval"),
    Refused("softreval", "nothing is answered from what has expired: leave it out"),
    Accepted("nofsc"),
    Refused("fsc", "nothing is cached on disk: nofsc, or leave it out"),
    Accepted("nomigration"),
    Refused("migration", "another server is not followed to: nomigration, or leave it out"),
    {"max_connect", Values::kCount},
    Accepted("trunkdiscovery"),
    Accepted("notrunkdiscovery"),
    {"write", Values::kOneOf, "lazy", "writes are kept until they are due: write=lazy, or sync"},
    {"xprtsec", Values::kOneOf, "none", kNoTls},
    Refused("sloppy", "no option is passed over: leave it out, and those that it was for"),
};

bool IsAmong(std::string_view accepted, std::string_view value) {
  if (value.empty()) return false;
  return std::ranges::any_of(std::views::split(accepted, ' '), [&](const auto& part) {
    return std::string_view(part.begin(), part.end()) == value;
  });
}

bool Accepts(const InertOption& option, std::string_view value) {
  constexpr auto kDigits = [](char c) { return c >= '0' && c <= '9'; };
  switch (option.values) {
    case Values::kNone:
      return option.accepted == kYes;
    case Values::kAny:
      return !value.empty();
    case Values::kCount:
      return !value.empty() && std::ranges::all_of(value, kDigits);
    case Values::kOneOf:
      return IsAmong(option.accepted, value);
    case Values::kAmong:
      return std::ranges::any_of(std::views::split(value, ':'), [&](const auto& part) {
        return IsAmong(option.accepted, std::string_view(part.begin(), part.end()));
      });
  }
  std::unreachable();
}

}  // namespace

std::optional<Status> CheckInertOption(std::string_view option) {
  const size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  const auto* const known = std::ranges::find(kOptions, name, &InertOption::name);
  if (known == std::end(kOptions)) return std::nullopt;
  if (has_value && known->values == Values::kNone) {
    return std::unexpected(fmt::format("option '{}': '{}' takes no value", option, name));
  }
  if (Accepts(*known, has_value ? option.substr(equals + 1) : std::string_view())) return Status();
  if (known->instead.empty()) {
    return std::unexpected(fmt::format("option '{}': accepted for {} is a {}", option, name,
                                       known->values == Values::kCount ? "number" : "value"));
  }
  return std::unexpected(fmt::format("option '{}': {}", option, known->instead));
}

std::vector<std::string_view> AcceptedInertOptions() {
  std::vector<std::string_view> names;
  for (const InertOption& option : kOptions) {
    const bool refused = option.accepted.empty() &&
                         (option.values == Values::kNone || option.values == Values::kOneOf);
    if (!refused) names.push_back(option.name);
  }
  return names;
}

}  // namespace nfswalk::nfs
