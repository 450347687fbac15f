#include "nfsclient/superblock/mount_options.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "nfsclient/superblock/inert_options.h"

namespace nfswalk::nfs {
namespace {

using Status = std::expected<void, std::string>;

constexpr std::string_view kScheme = "nfs://";
constexpr size_t kExportBytesMax = 1024;  // MNTPATHLEN, RFC 1813 5.1.1
constexpr uint64_t kPortMax = 65535;
// Twice as many nanoseconds still fit a signed 64-bit clock.
constexpr uint64_t kLifetimeMax_s = std::numeric_limits<int32_t>::max();
constexpr uint64_t kTimeoMax_ds = 6000;  // nfs(5) timeo: no wait is longer than 600 seconds
constexpr uint64_t kRetransMax = 1000;
constexpr uint64_t kTransferMax = std::numeric_limits<int32_t>::max();
constexpr uint64_t kObjectsMax = 1'000'000'000;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kDirtyMax = uint64_t{1} << 40;

// The options that only take effect once all are read, besides the result.
struct Parsed {
  MountOptions options;
  bool noac = false;
  std::optional<bool> lock = {};
  std::string_view lock_option = {};  // that said so
  std::optional<uint32_t> minor_of_version = {};  // as in version=4.1
  std::optional<uint32_t> minor = {};             // minorversion
  bool names_mount = false;                       // an option of the MOUNT protocol
};

struct NumberOption {
  std::string_view name;
  uint64_t min;
  uint64_t max;
  std::string_view unit;  // continues "a number from 1 to 16"
  void (*set)(MountOptions&, uint64_t);
};

struct FlagOption {
  std::string_view name;
  void (*set)(Parsed&);
};

struct ChoiceOption {
  std::string_view name;
  Status (*set)(Parsed&, std::string_view value);
};

// Converts to whatever field it is assigned to; the table's range is the proof that it fits.
template <auto Outer, auto Inner>
void SetIn(MountOptions& options, uint64_t value) {
  auto& field = (options.*Outer).*Inner;
  field = static_cast<std::decay_t<decltype(field)>>(value);
}
template <auto... Fields>
void Set(MountOptions& options, uint64_t value) {
  ((options.*Fields = static_cast<uint32_t>(value)), ...);
}
template <auto Field>
void SetLimit(MountOptions& options, uint64_t value) {
  options.*Field = value;
}

using Mount = MountOptions;
using Server = protocol::ServerAddress;
using Transport = protocol::TransportOptions;

constexpr auto SetAllLifetimes =
    Set<&Mount::acregmin_s, &Mount::acregmax_s, &Mount::acdirmin_s, &Mount::acdirmax_s>;

constexpr NumberOption kNumbers[] = {
    {"port", 1, kPortMax, "", SetIn<&Mount::server, &Server::nfs_port>},
    {"nfsport", 1, kPortMax, "", SetIn<&Mount::server, &Server::nfs_port>},
    {"mountport", 1, kPortMax, "", SetIn<&Mount::server, &Server::mount_port>},
    {"nconnect", 1, 16, " (connections)", SetIn<&Mount::transport, &Transport::nconnect>},
    {"timeo", 1, kTimeoMax_ds, " (tenths of a second)",
     SetIn<&Mount::transport, &Transport::timeo_ds>},
    {"retrans", 0, kRetransMax, "", SetIn<&Mount::transport, &Transport::retrans>},
    {"acregmin", 0, kLifetimeMax_s, " (seconds)", Set<&Mount::acregmin_s>},
    {"acregmax", 0, kLifetimeMax_s, " (seconds)", Set<&Mount::acregmax_s>},
    {"acdirmin", 0, kLifetimeMax_s, " (seconds)", Set<&Mount::acdirmin_s>},
    {"acdirmax", 0, kLifetimeMax_s, " (seconds)", Set<&Mount::acdirmax_s>},
    {"actimeo", 0, kLifetimeMax_s, " (seconds)", SetAllLifetimes},
    {"rsize", 1, kTransferMax, " (bytes)", Set<&Mount::rsize>},
    {"wsize", 1, kTransferMax, " (bytes)", Set<&Mount::wsize>},
    {"dentries", 1, kObjectsMax, " (objects)", SetLimit<&Mount::dentries_max>},
    {"inodes", 1, kObjectsMax, " (objects)", SetLimit<&Mount::inodes_max>},
    {"access_entries", 1, kObjectsMax, " (objects)", SetLimit<&Mount::access_entries_max>},
    {"credentials", 1, kObjectsMax, " (objects)", SetLimit<&Mount::credentials_max>},
    {"dirty_bytes", kPageBytes, kDirtyMax, " (bytes)", SetLimit<&Mount::dirty_bytes_max>},
};

void SetLock(Parsed& parsed, bool lock, std::string_view option) {
  parsed.lock = lock;
  parsed.lock_option = option;
}

constexpr FlagOption kFlags[] = {
    {"hard", [](Parsed& parsed) { parsed.options.transport.hard = true; }},
    {"soft", [](Parsed& parsed) { parsed.options.transport.hard = false; }},
    {"softerr", [](Parsed& parsed) { parsed.options.transport.hard = false; }},
    {"ac", [](Parsed& parsed) { parsed.noac = false; }},
    {"noac", [](Parsed& parsed) { parsed.noac = true; }},
    {"cto", [](Parsed& parsed) { parsed.options.nocto = false; }},
    {"nocto", [](Parsed& parsed) { parsed.options.nocto = true; }},
    {"sync", [](Parsed& parsed) { parsed.options.sync = true; }},
    {"async", [](Parsed& parsed) { parsed.options.sync = false; }},
    {"lock", [](Parsed& parsed) { SetLock(parsed, true, "lock"); }},
    {"nolock", [](Parsed& parsed) { SetLock(parsed, false, "nolock"); }},
    {"rdirplus", [](Parsed& parsed) { parsed.options.rdirplus = true; }},
    {"delegs", [](Parsed& parsed) { parsed.options.delegations = true; }},
    {"nodelegs", [](Parsed& parsed) { parsed.options.delegations = false; }},
    {"dirdelegs", [](Parsed& parsed) { parsed.options.directory_delegations = true; }},
    {"nodirdelegs", [](Parsed& parsed) { parsed.options.directory_delegations = false; }},
    {"xattr", [](Parsed& parsed) { parsed.options.xattr = true; }},
    {"noxattr", [](Parsed& parsed) { parsed.options.xattr = false; }},
    {"nordirplus", [](Parsed& parsed) { parsed.options.rdirplus = false; }},
    {"compound", [](Parsed& parsed) { parsed.options.compound = true; }},
    {"nocompound", [](Parsed& parsed) { parsed.options.compound = false; }},
    {"pathcache", [](Parsed& parsed) { parsed.options.path_cache = true; }},
    {"nopathcache", [](Parsed& parsed) { parsed.options.path_cache = false; }},
    {"acl", [](Parsed& parsed) { parsed.options.acl = true; }},
    {"noacl", [](Parsed& parsed) { parsed.options.acl = false; }},
    {"protected_symlinks", [](Parsed& parsed) { parsed.options.protected_symlinks = true; }},
    {"noprotected_symlinks", [](Parsed& parsed) { parsed.options.protected_symlinks = false; }},
    {"protected_regular", [](Parsed& parsed) { parsed.options.protected_regular = true; }},
    {"noprotected_regular", [](Parsed& parsed) { parsed.options.protected_regular = false; }},
    {"strict", [](Parsed& parsed) { parsed.options.contract = WalkContract::kStrict; }},
};

Status SetVersion(Parsed& parsed, std::string_view value) {
  constexpr std::string_view kVersions[] = {"3", "4", "4.0", "4.1", "4.2"};
  if (std::ranges::find(kVersions, value) == std::end(kVersions)) {
    return std::unexpected(fmt::format(
        "NFS version '{}' is not supported: accepted are 3, 4, 4.0, 4.1 and 4.2", value));
  }
  parsed.options.server.version = value[0] - '0';
  parsed.minor_of_version.reset();
  if (value.size() == 3) parsed.minor_of_version = static_cast<uint32_t>(value[2] - '0');
  return {};
}

Status SetMinorVersion(Parsed& parsed, std::string_view value) {
  if (value != "0" && value != "1" && value != "2") {
    return std::unexpected(
        fmt::format("minorversion '{}' is not supported: accepted are 0, 1 and 2", value));
  }
  parsed.minor = static_cast<uint32_t>(value[0] - '0');
  return {};
}

Status FitMinorVersion(Parsed& parsed) {
  protocol::ServerAddress& server = parsed.options.server;
  const bool contradicts = server.version == 3 ? parsed.minor.value_or(0) != 0
                                               : parsed.minor_of_version && parsed.minor &&
                                                     *parsed.minor_of_version != *parsed.minor;
  if (contradicts) {
    return std::unexpected(fmt::format(
        "option 'minorversion={}' with version {}: minor versions are those of version 4, "
        "and said once: vers=4.{}",
        *parsed.minor, server.version == 3 ? "3" : fmt::format("4.{}", *parsed.minor_of_version),
        *parsed.minor));
  }
  // mount.nfs(8) has it so.
  const bool is_of_3 = server.version == protocol::ServerAddress::kLatest && !parsed.minor &&
                       parsed.lock != true && parsed.names_mount;
  if (is_of_3) server.version = 3;
  if (server.version == 3) return {};
  if (parsed.minor) server.version = 4;
  server.minor_version = parsed.minor ? parsed.minor : parsed.minor_of_version;
  return {};
}

Status SetLocalLock(Parsed& parsed, std::string_view value) {
  if (value != "all" && value != "none") {
    return std::unexpected(
        fmt::format("local_lock '{}': flock and fcntl locks are at one place: accepted are all "
                    "(nolock) and none (lock)",
                    value));
  }
  SetLock(parsed, value == "none", value == "none" ? "local_lock=none" : "local_lock=all");
  return {};
}

Status SetLookupCache(Parsed& parsed, std::string_view value) {
  LookupCache& lookupcache = parsed.options.lookupcache;
  if (value == "all") {
    lookupcache = LookupCache::kAll;
  } else if (value == "pos" || value == "positive") {
    lookupcache = LookupCache::kPositive;
  } else if (value == "none") {
    lookupcache = LookupCache::kNone;
  } else {
    return std::unexpected(fmt::format(
        "lookupcache '{}' is not known: accepted are all, pos, positive and none", value));
  }
  return {};
}

template <auto Parse, auto Field>
Status SetInodePolicy(Parsed& parsed, std::string_view value) {
  auto policy = Parse(value);
  if (!policy) {
    return std::unexpected(fmt::format("inode cache policy '{}': {}", value, policy.error()));
  }
  parsed.options.inode_policy.*Field = *policy;
  return {};
}

constexpr auto SetInodeHash = SetInodePolicy<icache::ParseHashPolicy, &icache::InodePolicy::hash>;
constexpr auto SetInodeList = SetInodePolicy<icache::ParseListPolicy, &icache::InodePolicy::list>;
constexpr auto SetInodeLru = SetInodePolicy<icache::ParseLruPolicy, &icache::InodePolicy::lru>;

Status SetWalk(Parsed& parsed, std::string_view value) {
  auto mode = ParseWalkMode(value);
  if (!mode) return std::unexpected(std::move(mode.error()));
  parsed.options.walk = *mode;
  return {};
}

constexpr ChoiceOption kChoices[] = {
    {"version", SetVersion},
    {"vers", SetVersion},
    {"nfsvers", SetVersion},
    {"minorversion", SetMinorVersion},
    {"lookupcache", SetLookupCache},
    {"local_lock", SetLocalLock},
    {"walk", SetWalk},
    {"inode_hash", SetInodeHash},
    {"inode_list", SetInodeList},
    {"inode_lru", SetInodeLru},
};

constexpr std::pair<WalkMode, std::string_view> kWalkModes[] = {
    {WalkMode::kRef, "ref"},
    {WalkMode::kRcuLocked, "rcu-locked"},
    {WalkMode::kRcuPeek, "rcu-peek"},
    {WalkMode::kRcuSearch, "rcu-search"},
};

// Decimal digits only. The message is the caller's, who knows what the number is for.
bool ParseNumber(std::string_view text, uint64_t min, uint64_t max, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc{} && end == text.data() + text.size() && *value >= min && *value <= max;
}

Status ApplyOption(Parsed& parsed, std::string_view option) {
  const size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value = has_value ? option.substr(equals + 1) : std::string_view();
  for (const FlagOption& flag : kFlags) {
    if (flag.name != name) continue;
    if (has_value) {
      return std::unexpected(fmt::format("option '{}': '{}' takes no value", option, name));
    }
    flag.set(parsed);
    return {};
  }
  parsed.names_mount |= name.starts_with("mount");
  for (const NumberOption& number : kNumbers) {
    if (number.name != name) continue;
    uint64_t parsed_value = 0;
    if (!ParseNumber(value, number.min, number.max, &parsed_value)) {
      return std::unexpected(fmt::format("option '{}': accepted for {} is a number from {} to {}{}",
                                         option, name, number.min, number.max, number.unit));
    }
    number.set(parsed.options, parsed_value);
    return {};
  }
  for (const ChoiceOption& choice : kChoices) {
    if (choice.name == name) return choice.set(parsed, value);
  }
  if (auto checked = CheckInertOption(option)) return *std::move(checked);
  return std::unexpected(
      fmt::format("option '{}' is not known: accepted are {}", option, MountOptionNames()));
}

Status ApplyOptions(Parsed& parsed, std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('&');
    if (Status applied = ApplyOption(parsed, text.substr(0, end)); !applied) return applied;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return {};
}

Status CheckLifetimes(const MountOptions& options) {
  auto check = [](std::string_view kind, uint32_t min_s, uint32_t max_s) -> Status {
    if (min_s <= max_s) return {};
    return std::unexpected(
        fmt::format("ac{0}min={1} is more than ac{0}max={2}: accepted is ac{0}min <= ac{0}max "
                    "(defaults count where one is not given)",
                    kind, min_s, max_s));
  };
  if (Status regular = check("reg", options.acregmin_s, options.acregmax_s); !regular) {
    return regular;
  }
  return check("dir", options.acdirmin_s, options.acdirmax_s);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::expected<std::string, std::string> DecodeExport(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      return std::unexpected(
          fmt::format("export '{}': '{}' is no escape: accepted are % and two hexadecimal digits, "
                      "01 to FF ('%25' for a percent sign)",
                      text, text.substr(i, 3)));
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (decoded.size() > kExportBytesMax) {
    return std::unexpected(fmt::format("export path of {} bytes: accepted are at most {}",
                                       decoded.size(), kExportBytesMax));
  }
  return decoded;
}

// Returns the path as a server compares it with its exports' names (RFC 1813 5.1.1 dirpath):
// without empty names.
std::string WithoutEmptyNames(std::string_view path) {
  std::string clean;
  for (const char c : path) {
    if (c != '/' || clean.empty() || clean.back() != '/') clean += c;
  }
  if (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  return clean;
}

bool IsIpv6(std::string_view text) {
  in6_addr parsed;
  return inet_pton(AF_INET6, std::string(text).c_str(), &parsed) == 1;
}

Status CheckHostName(std::string_view host, std::string_view authority) {
  if (host.empty()) {
    return std::unexpected("no host in the URL: accepted is nfs://host[:port]/export");
  }
  for (const char c : host) {
    const bool accepted = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
    if (!accepted) {
      return std::unexpected(
          fmt::format("host '{}': accepted are letters, digits, '-', '.' and '_', or an IPv6 "
                      "address in brackets, [::1]",
                      authority));
    }
  }
  return {};
}

// "host", "host:port", "[v6]" or "[v6]:port".
Status ParseAuthority(MountOptions& options, std::string_view authority) {
  std::string_view host;
  std::string_view rest;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos || !IsIpv6(authority.substr(1, close - 1))) {
      return std::unexpected(
          fmt::format("host '{}': accepted in brackets is an IPv6 address, [::1]", authority));
    }
    host = authority.substr(1, close - 1);
    rest = authority.substr(close + 1);
  } else {
    const size_t colon = IsIpv6(authority) ? std::string_view::npos : authority.rfind(':');
    host = authority.substr(0, colon);
    rest = authority.substr(host.size());
    if (Status checked = CheckHostName(host, authority); !checked) return checked;
  }
  options.server.host = host;
  if (rest.empty()) return {};
  uint64_t port = 0;
  if (!rest.starts_with(':') || !ParseNumber(rest.substr(1), 1, kPortMax, &port)) {
    return std::unexpected(
        fmt::format("port '{}' in '{}': accepted is a number from 1 to {}, after a colon",
                    rest.starts_with(':') ? rest.substr(1) : rest, authority, kPortMax));
  }
  options.server.nfs_port = static_cast<uint16_t>(port);
  return {};
}

}  // namespace

std::expected<MountOptions, std::string> ParseMountUrl(std::string_view url) {
  if (!IsMountUrl(url)) {
    return std::unexpected(
        fmt::format("'{}' is no URL of a mount: accepted is nfs://host[:port]/export", url));
  }
  if (url.find('\0') != std::string_view::npos) {
    return std::unexpected("the URL contains a NUL byte: accepted is any other byte");
  }
  const std::string_view location = url.substr(kScheme.size(), url.find('?') - kScheme.size());
  const size_t slash = location.find('/');
  Parsed parsed;
  if (Status host = ParseAuthority(parsed.options, location.substr(0, slash)); !host) {
    return std::unexpected(std::move(host.error()));
  }
  if (slash == std::string_view::npos) {
    return std::unexpected(
        fmt::format("no export in '{}': accepted is nfs://host[:port]/export", url));
  }
  auto export_path = DecodeExport(location.substr(slash));
  if (!export_path) return std::unexpected(std::move(export_path.error()));
  parsed.options.server.export_path = WithoutEmptyNames(*export_path);

  if (const size_t query = url.find('?'); query != std::string_view::npos) {
    if (Status applied = ApplyOptions(parsed, url.substr(query + 1)); !applied) {
      return std::unexpected(std::move(applied.error()));
    }
  }
  MountOptions& options = parsed.options;
  if (Status fitted = FitMinorVersion(parsed); !fitted) {
    return std::unexpected(std::move(fitted.error()));
  }
  if (Status lifetimes = CheckLifetimes(options); !lifetimes) {
    return std::unexpected(std::move(lifetimes.error()));
  }
  options.nolock = parsed.lock == false;
  if (parsed.lock == true && options.server.version == 3) {
    return std::unexpected(fmt::format(
        "option '{}' with version 3: locks on the server (NLM) are not supported: accepted is "
        "nolock, the default, whose locks hold among the open files of this client, or version=4",
        parsed.lock_option));
  }
  // Only version 4 has them.
  if (parsed.lock == true) options.server.version = 4;
  // Whatever actimeo and its like say, before or after (ATTR-4).
  if (parsed.noac) {
    SetAllLifetimes(options, 0);
    options.sync = true;
  }
  return options;
}

bool IsMountUrl(std::string_view text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(text.substr(0, kScheme.size()), kScheme, {}, lower);
}

bool KnowsMountOption(std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  const auto has = [name](const auto& table) {
    return std::ranges::any_of(table, [name](const auto& known) { return known.name == name; });
  };
  return has(kChoices) || has(kNumbers) || has(kFlags) || CheckInertOption(option).has_value();
}

std::string MountOptionNames() {
  std::vector<std::string_view> names;
  const auto append = [&names](const auto& table) {
    for (const auto& option : table) names.push_back(option.name);
  };
  append(kChoices);
  append(kNumbers);
  append(kFlags);
  std::ranges::copy(AcceptedInertOptions(), std::back_inserter(names));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string_view WalkModeName(WalkMode mode) {
  for (const auto& [known, name] : kWalkModes) {
    if (known == mode) return name;
  }
  return "unknown";
}

std::expected<WalkMode, std::string> ParseWalkMode(std::string_view name) {
  for (const auto& [mode, known] : kWalkModes) {
    if (known == name) return mode;
  }
  return std::unexpected(fmt::format(
      "walk mode '{}' is not known: accepted are ref, rcu-locked, rcu-peek and rcu-search", name));
}

}  // namespace nfswalk::nfs
