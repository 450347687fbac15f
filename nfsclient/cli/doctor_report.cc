#include "nfsclient/cli/doctor_report.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "nfsclient/cli/escape.h"
#include "nfsclient/cli/human_size.h"
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

std::string Line(std::string_view label, const std::string& text) {
  return fmt::format("{:<13}{}\n", label, text);
}

std::string VersionName(int version) { return version == 4 ? "Version 4.0" : "Version 3"; }

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

std::string ServerText(const DoctorFindings& findings) {
  const ServerExamination& server = findings.server;
  std::string text;
  for (const OfferedVersion& offered : server.versions) {
    const bool used = offered.version == findings.options.server.version;
    text += Line(VersionName(offered.version),
                 offered.refusal.empty() ? (used ? "offered, and used by this URL" : "offered")
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
  text += Line("Listings", fmt::format("{} a reply at most; {}",
                                       HumanSize(server.limits.readdir_bytes_max), attributes));
  text += Line("Names", fmt::format("{} bytes at most; upper and lower case {}",
                                    server.limits.name_bytes_max,
                                    server.limits.case_insensitive ? "are the same" : "differ"));
  if (findings.options.server.version == 4) {
    text += Line(
        "Paths",
        server.names_per_compound
            ? fmt::format(
                  "{}{} names in one COMPOUND",
                  *server.names_per_compound >= ServerExamination::kNamesTried ? "at least " : "",
                  *server.names_per_compound)
            : "not known how many names go into one COMPOUND: no directory in the root");
  }
  return text;
}

std::string LookupText(const std::string& path, const WarmLookups& lookups) {
  std::string text =
      fmt::format("'{}': {} of {} in RCU mode, median {} ns", Escape(path), lookups.in_rcu_mode,
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

Json DurationJson(const Durations& durations) {
  return {{"calls", durations.calls},
          {"min_ns", durations.min_ns},
          {"median_ns", durations.median_ns},
          {"max_ns", durations.max_ns}};
}

Json AdviceJson(const std::vector<Advice>& advice) {
  Json array = Json::array();
  for (const Advice& each : advice) {
    array.push_back({{"name", each.name}, {"message", each.message}});
  }
  return array;
}

Json LookupJson(const std::string& path, const WarmLookups& lookups) {
  Json object = PathJson(path);
  object["stat"] = DurationJson(lookups.duration);
  object["in_rcu_mode"] = lookups.in_rcu_mode;
  Json left = Json::object();
  for (size_t i = 1; i < kNeedRefCount; ++i) {
    left[std::string(NeedRefName(static_cast<NeedRef>(i)))] = lookups.left[i];
  }
  object["left"] = std::move(left);
  return object;
}

void AddServer(Json& object, const DoctorFindings& findings) {
  const ServerExamination& server = findings.server;
  object["round_trip"] = DurationJson(server.round_trip);
  object["limits"] = {{"read_bytes", server.limits.read_bytes_max},
                      {"write_bytes", server.limits.write_bytes_max},
                      {"readdir_bytes", server.limits.readdir_bytes_max},
                      {"name_bytes", server.limits.name_bytes_max}};
  object["case_insensitive"] = server.limits.case_insensitive;
  object["listings_with_attributes"] = nullptr;
  if (server.listings_with_attributes) {
    object["listings_with_attributes"] = *server.listings_with_attributes;
  }
  object["names_per_compound"] = nullptr;
  if (server.names_per_compound) object["names_per_compound"] = *server.names_per_compound;
  Json granted = Json::array();
  for (const Right& right : kRights) {
    if ((server.root_granted & right.bit) != 0) granted.push_back(right.name);
  }
  object["root_granted"] = std::move(granted);
}

}  // namespace

std::string DoctorText(const DoctorFindings& findings) {
  std::string text = ServerText(findings);
  text += Line("Called as", CredentialText(findings.credential));
  if (findings.server.reached) {
    const Attributes& root = findings.server.root;
    text += Line("Root", fmt::format("{}, of uid {} gid {}; allowed: {}", ModeString(root),
                                     root.uid, root.gid, RightsText(findings.server.root_granted)));
  }
  for (const auto& [path, lookups] : findings.lookups) text += LookupText(path, lookups);
  text += AdviceText("What makes lookups leave RCU mode", findings.on_lookups);
  if (!findings.on_credential.empty()) {
    text += AdviceText("Credential", findings.on_credential);
  }
  return text;
}

Json DoctorJson(const DoctorFindings& findings) {
  Json object = Json::object();
  AddBytes(object, "url", findings.url);
  object["version"] = findings.options.server.version;
  object["versions"] = Json::array();
  for (const OfferedVersion& offered : findings.server.versions) {
    Json version{{"version", offered.version}, {"offered", offered.refusal.empty()}};
    if (!offered.refusal.empty()) AddBytes(version, "refusal", offered.refusal);
    object["versions"].push_back(std::move(version));
  }
  const std::span<const uint32_t> groups = findings.credential.groups();
  object["credential"] = {{"uid", findings.credential.uid()},
                          {"gid", findings.credential.gid()},
                          {"groups", std::vector<uint32_t>(groups.begin(), groups.end())}};
  if (findings.server.reached) AddServer(object, findings);
  object["lookups"] = Json::array();
  for (const auto& [path, lookups] : findings.lookups) {
    object["lookups"].push_back(LookupJson(path, lookups));
  }
  object["leaving_rcu_mode"] = AdviceJson(findings.on_lookups);
  object["who_asks"] = AdviceJson(findings.on_credential);
  return object;
}

}  // namespace nfswalk::cli
