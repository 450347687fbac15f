#include "nfsclient/cli/doctor/doctor_report.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "nfsclient/cli/show/escape.h"
#include "nfsclient/cli/show/human_size.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {
namespace {

struct Right {
  uint32_t bit;
  std::string_view name;
};
constexpr Right kRights[] = {
    {access_cache::kServerRead, "read"},     {access_cache::kServerLookup, "search"},
    {access_cache::kServerModify, "modify"}, {access_cache::kServerExtend, "extend"},
    {access_cache::kServerDelete, "delete"},
};

std::string Line(std::string_view label, std::string_view text) {
  return fmt::format("{:<13}{}\n", label, text);
}

std::string VersionName(const OfferedVersion& offered) {
  return offered.version == 4 ? fmt::format("Version 4.{}", offered.minor_version) : "Version 3";
}

std::string Microseconds(uint64_t nanoseconds) {
  return fmt::format("{:.1f} us", static_cast<double>(nanoseconds) / 1000);
}

std::string DurationText(const Durations& durations) {
  return fmt::format("median {}, {} to {} ({} calls)", Microseconds(durations.median_ns),
                     Microseconds(durations.min_ns), Microseconds(durations.max_ns),
                     durations.calls);
}

std::string CredentialText(const Credential& credential) {
  std::string groups;
  for (const uint32_t group : credential.groups()) {
    groups += fmt::format("{}{}", groups.empty() ? "" : ",", group);
  }
  return fmt::format("uid {} gid {}, groups {}", credential.uid(), credential.gid(),
                     groups.empty() ? "none" : groups);
}

std::string RightsText(uint32_t granted) {
  std::string text;
  for (const Right& right : kRights) {
    if ((granted & right.bit) != 0)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", right.name);
  }
  return text.empty() ? "nothing" : text;
}

std::string_view DelegationsText(const ServerExamination& server) {
  if (!*server.has_back_channel)
    return "not known: the server has bound no connection to call over";
  if (!server.delegates_files)
    return "not known: the server says that it cannot call, or no file of the root could be opened";
  return *server.delegates_files ? "granted for files that are opened to read (option delegs)"
                                 : "refused for a file that was opened to read";
}

std::string ServerText(const DoctorFindings& findings) {
  const ServerExamination& server = findings.server;
  std::string text;
  for (const OfferedVersion& offered : server.versions) {
    const bool used = offered.IsOf(findings.options.server);
    text += Line(VersionName(offered), offered.refusal.empty()
                                           ? (used ? "offered, and used by this URL" : "offered")
                                           : "not offered: " + Escape(offered.refusal));
  }
  if (!server.reached) return text;
  text += Line("Round trip", DurationText(server.round_trip));
  text += Line("Read", fmt::format("{} a call at most", HumanSize(server.limits.read_bytes_max)));
  text += Line("Write", fmt::format("{} a call at most", HumanSize(server.limits.write_bytes_max)));
  std::string_view attributes = "not known, the root is empty";
  if (server.listings_with_attributes) {
    attributes = *server.listings_with_attributes ? "with attributes of the entries"
                                                  : "without attributes of the entries";
  }
  text +=
      Line("Listings",
           fmt::format("{} a reply {}; {}", HumanSize(server.limits.readdir_bytes_max),
                       findings.options.server.version == 4 ? "at most" : "preferred", attributes));
  text += Line("Names", fmt::format("{} bytes at most; upper and lower case {}",
                                    server.limits.name_bytes_max,
                                    server.limits.case_insensitive ? "are the same" : "differ"));
  if (findings.options.server.version == 4) {
    text += Line("ACLs", server.limits.has_acls ? "of version 4" : "none");
    text += Line(
        "Paths",
        server.names_per_compound
            ? fmt::format(
                  "{}{} names in one COMPOUND",
                  *server.names_per_compound >= ServerExamination::kNamesTried ? "at least " : "",
                  *server.names_per_compound)
            : "not known how many names go into one COMPOUND: no directory in the root");
  }
  if (server.has_back_channel) text += Line("Delegations", DelegationsText(server));
  if (server.delegates_directories) {
    text += Line("Directories", *server.delegates_directories
                                    ? "delegated, the root at least (option delegs)"
                                    : "not delegated, at least not the root");
  }
  return text;
}

std::string CachesText(const Stats& caches) {
  return Line(
      "Caches",
      fmt::format("at most {} names, {} inodes, {} more access rights ({})", caches.dentries_max,
                  caches.inodes_max, caches.access_entries_max,
                  caches.limits_from == LimitSource::kOptions
                      ? "options of the URL"
                      : fmt::format("from the memory: {}", LimitSourceName(caches.limits_from))));
}

std::string LookupText(const std::string& path, const WarmLookups& lookups) {
  std::string text =
      fmt::format("'{}': {} of {} in RCU-walk, median {} ns", Escape(path), lookups.in_rcu_mode,
                  lookups.duration.calls, lookups.duration.median_ns);
  for (size_t i = 0; i < kNeedRefCount; ++i) {
    if (lookups.left[i] == 0) continue;
    text += fmt::format(", {} {}", lookups.left[i], NeedRefName(static_cast<NeedRef>(i)));
  }
  return Line("Warm stat", text);
}

std::string AdviceText(std::string_view heading, const std::vector<Advice>& advice) {
  std::string text = fmt::format("{}:\n", heading);
  for (const Advice& each : advice) text += fmt::format("  - {}\n", each.message);
  return advice.empty() ? text + "  nothing that is known\n" : text;
}

JsonObject DurationJson(const Durations& durations) {
  return JsonObject()
      .Set("calls", durations.calls)
      .Set("min_ns", durations.min_ns)
      .Set("median_ns", durations.median_ns)
      .Set("max_ns", durations.max_ns);
}

std::vector<JsonObject> AdviceJson(const std::vector<Advice>& advice) {
  std::vector<JsonObject> list;
  for (const Advice& each : advice) {
    list.push_back(JsonObject().Set("name", each.name).Set("message", each.message));
  }
  return list;
}

std::vector<JsonObject> VersionsJson(const std::vector<OfferedVersion>& versions) {
  std::vector<JsonObject> list;
  for (const OfferedVersion& offered : versions) {
    JsonObject& version = list.emplace_back();
    version.Set("version", offered.version);
    if (offered.version == 4) version.Set("minor_version", offered.minor_version);
    version.Set("offered", offered.refusal.empty());
    if (!offered.refusal.empty()) AddBytes(version, "refusal", offered.refusal);
  }
  return list;
}

JsonObject CredentialJson(const Credential& credential) {
  const std::span<const uint32_t> groups = credential.groups();
  return JsonObject()
      .Set("uid", credential.uid())
      .Set("gid", credential.gid())
      .Set("groups", std::vector(groups.begin(), groups.end()));
}

JsonObject LookupJson(const std::string& path, const WarmLookups& lookups) {
  JsonObject left;
  for (size_t i = 1; i < kNeedRefCount; ++i) {
    left.Set(NeedRefName(static_cast<NeedRef>(i)), lookups.left[i]);
  }
  return PathJson(path)
      .Set("stat", DurationJson(lookups.duration))
      .Set("in_rcu_mode", lookups.in_rcu_mode)
      .Set("left", left);
}

JsonObject CachesJson(const Stats& caches) {
  return JsonObject()
      .Set("dentries_max", caches.dentries_max)
      .Set("inodes_max", caches.inodes_max)
      .Set("access_entries_max", caches.access_entries_max)
      .Set("limits_from", LimitSourceName(caches.limits_from));
}

void AddServer(JsonObject& object, const ServerExamination& server) {
  std::vector<std::string_view> granted;
  for (const Right& right : kRights) {
    if ((server.root_granted & right.bit) != 0) granted.push_back(right.name);
  }
  object.Set("round_trip", DurationJson(server.round_trip))
      .Set("limits", JsonObject()
                         .Set("read_bytes", server.limits.read_bytes_max)
                         .Set("write_bytes", server.limits.write_bytes_max)
                         .Set("readdir_bytes", server.limits.readdir_bytes_max)
                         .Set("name_bytes", server.limits.name_bytes_max))
      .Set("case_insensitive", server.limits.case_insensitive)
      .Set("has_acls", server.limits.has_acls)
      .Set("listings_with_attributes", server.listings_with_attributes)
      .Set("names_per_compound", server.names_per_compound)
      .Set("back_channel", server.has_back_channel)
      .Set("delegates_files", server.delegates_files)
      .Set("delegates_directories", server.delegates_directories)
      .Set("root_granted", granted);
}

}  // namespace

std::string DoctorText(const DoctorFindings& findings) {
  std::string text = ServerText(findings);
  text += Line("Called as", CredentialText(findings.credential));
  if (findings.server.reached) {
    const Attributes& root = findings.server.root;
    text += Line("Root", fmt::format("{}, of uid {} gid {}; allowed: {}", ModeString(root),
                                     root.uid, root.gid, RightsText(findings.server.root_granted)));
    text += CachesText(findings.caches);
  }
  for (const auto& [path, lookups] : findings.lookups) text += LookupText(path, lookups);
  text += AdviceText("What makes lookups leave RCU-walk", findings.on_lookups);
  if (!findings.on_credential.empty()) {
    text += AdviceText("Credential", findings.on_credential);
  }
  return text;
}

JsonObject DoctorJson(const DoctorFindings& findings) {
  std::vector<JsonObject> lookups;
  for (const auto& [path, found] : findings.lookups) lookups.push_back(LookupJson(path, found));
  JsonObject object;
  AddBytes(object, "url", findings.url);
  const protocol::ServerAddress& server = findings.options.server;
  if (server.version != protocol::ServerAddress::kLatest) object.Set("version", server.version);
  if (server.version == 4 && server.minor_version) {
    object.Set("minor_version", *server.minor_version);
  }
  object.Set("versions", VersionsJson(findings.server.versions))
      .Set("credential", CredentialJson(findings.credential));
  if (findings.server.reached) {
    AddServer(object, findings.server);
    object.Set("caches", CachesJson(findings.caches));
  }
  return object.Set("lookups", lookups)
      .Set("leaving_rcu_mode", AdviceJson(findings.on_lookups))
      .Set("who_asks", AdviceJson(findings.on_credential));
}

}  // namespace nfswalk::cli
