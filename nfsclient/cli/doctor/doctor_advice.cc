#include "nfsclient/cli/doctor/doctor_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "nfsclient/client.h"
#include "sunrpc_auth/auth_body.h"

namespace nfswalk::cli {
namespace {

constexpr size_t kFewObjects = 10'000;

void AdviseOnLifetimes(const MountOptions& options, std::vector<Advice>& advice) {
  const MountOptions usual;
  if (options.acregmax_s == 0 && options.acdirmax_s == 0) {
    advice.push_back(
        {"no_attribute_cache",
         "noac: attributes are never valid, each lookup needs the server (getattr_rpc); "
         "leave noac out, or set actimeo="});
    return;
  }
  if (options.acregmin_s >= usual.acregmin_s && options.acdirmin_s >= usual.acdirmin_s) return;
  advice.push_back({"short_lifetimes",
                    fmt::format("attributes are valid for only {} s (files) and {} s "
                                "(directories) at first, then lookups revalidate (getattr_rpc, "
                                "lookup_rpc); raise actimeo=, or acregmin= and acdirmin=",
                                options.acregmin_s, options.acdirmin_s)});
}

void AdviseOnOptions(const MountOptions& options, std::vector<Advice>& advice) {
  if (options.walk == WalkMode::kRef) {
    advice.push_back(
        {"ref_mode", "walk=ref: every lookup takes references (ref_mode); leave it out"});
  }
  if (options.lookupcache == LookupCache::kNone) {
    advice.push_back({"lookupcache",
                      "lookupcache=none: each name is looked up each time (lookup_rpc); leave it "
                      "out, or lookupcache=positive"});
  } else if (options.lookupcache == LookupCache::kPositive) {
    advice.push_back({"lookupcache",
                      "lookupcache=positive: names that do not exist are looked up each time "
                      "(lookup_rpc); leave it out if programs look for many"});
  }
  AdviseOnLifetimes(options, advice);
  size_t least = kFewObjects;
  for (const auto& given : {options.dentries_max, options.inodes_max, options.access_entries_max}) {
    least = std::min(least, given.value_or(kFewObjects));
  }
  if (least < kFewObjects) {
    advice.push_back(
        {"small_caches", fmt::format("the caches hold only {} objects; evicted ones are looked up "
                                     "again (miss); raise dentries=, inodes= and access_entries=",
                                     least)});
  }
}

bool IsOffered(const ServerExamination& found, int version) {
  return std::ranges::any_of(found.versions, [&](const OfferedVersion& offered) {
    return offered.version == version && offered.refusal.empty();
  });
}

}  // namespace

std::vector<Advice> AdviseOnLookups(const MountOptions& options, const ServerExamination& found) {
  std::vector<Advice> advice;
  AdviseOnOptions(options, advice);
  if (!options.rdirplus) {
    advice.push_back({"bare_listings",
                      "nordirplus: listings do not fill the caches, each name costs a call (miss); "
                      "leave it out"});
  } else if (found.listings_with_attributes == false) {
    advice.push_back({"bare_listings",
                      "the server lists directories without attributes or handles: each name costs "
                      "a call (miss); allow READDIRPLUS there"});
  }
  if (options.server.version == 3) {
    advice.push_back(
        {"no_change_attribute",
         fmt::format("version 3 has no change attribute: the change time of a directory stands in "
                     "for it, two changes within one tick of the server's clock look like one, and "
                     "any change there revalidates all its names (lookup_rpc){}",
                     IsOffered(found, 4) ? "; version=4 has one and is offered" : "")});
  } else if (found.reached && found.root.change == 0) {
    advice.push_back({"no_change_attribute",
                      "the server says 0 for the change attribute of the root: changes there may "
                      "go unseen; compare with version=3"});
  }
  return advice;
}

std::vector<Advice> AdviseOnCredential(const Credential& credential,
                                       const ServerExamination& found) {
  std::vector<Advice> advice;
  if (credential.groups().size() > sunrpc_auth::kAuthSysGroupsMax) {
    advice.push_back(
        {"groups_cut",
         fmt::format("{} supplementary groups, of which AUTH_SYS carries the first {}; "
                     "the server does not hear of the others",
                     credential.groups().size(), sunrpc_auth::kAuthSysGroupsMax)});
  }
  if (!found.reached) return advice;
  if (!access_cache::Grants(found.root_granted, kMayRead | kMayExecute, true)) {
    advice.push_back(
        {"root_denied", fmt::format("uid {} gid {} may not read and search the root of the export; "
                                    "--uid, --gid and --groups choose another identity",
                                    credential.uid(), credential.gid())});
  } else if (credential.uid() == 0 && !access_cache::Grants(found.root_granted, kMayWrite, true)) {
    advice.push_back({"root_squashed",
                      "uid 0 may not write to the root of the export: it is read-only, or the "
                      "server maps root to nobody (root_squash)"});
  }
  return advice;
}

}  // namespace nfswalk::cli
