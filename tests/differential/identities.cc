#include "tests/differential/identities.h"

#include <algorithm>

namespace nfswalk::differential {
namespace {

using sunrpc_auth::Credential;

constexpr size_t kGroupsOnTheWire = 16;

// `count` groups that own no file, with `member` at `place`.
std::vector<uint32_t> Crowd(size_t count, size_t place, uint32_t member) {
  std::vector<uint32_t> groups;
  for (size_t i = 0; i < count; ++i) groups.push_back(static_cast<uint32_t>(5000 + i * 7));
  groups[place] = member;
  return groups;
}

std::vector<uint32_t> Reversed(std::vector<uint32_t> groups) {
  std::ranges::reverse(groups);
  return groups;
}

}  // namespace

std::vector<Identity> AllIdentities() {
  return {
      {"root", {0, 0}},
      {"root with groups", {0, kStaff, {kWheel, 1}}},
      {"alice", {kAlice, kAlice}},
      {"alice, primary group staff", {kAlice, kStaff}},
      {"bob", {kBob, kBob}},
      {"bob, member of staff", {kBob, kBob, {7, kStaff}}},
      {"primary staff", {1003, kStaff}},
      {"primary staff, member of wheel", {1003, kStaff, {kWheel}}},
      {"primary wheel, member of staff", {1003, kWheel, {kStaff}}},
      {"other", {1004, 1004}},
      {"other, member of alice", {1004, 1004, {kAlice}}},
      {"other, member of root", {1004, 1004, {0}}},
      {"other, primary root", {1004, 0}},
      {"16 groups, staff last", {1005, 1005, Crowd(16, 15, kStaff)}},
      {"16 groups, staff first", {1005, 1005, Reversed(Crowd(16, 15, kStaff))}},
      {"17 groups, staff last", {1005, 1005, Crowd(17, 16, kStaff)}},
      {"17 groups, staff first", {1005, 1005, Reversed(Crowd(17, 16, kStaff))}},
      {"40 groups, staff is the 4th", {1005, 1005, Crowd(40, 3, kStaff)}},
      {"40 groups, staff is the 37th", {1005, 1005, Reversed(Crowd(40, 3, kStaff))}},
      {"a large uid", {4294967290, 4294967291, {4294967292}}},
      {"without a user", Credential()},
  };
}

WireIdentity OnTheWire(const Credential& credential, Squash squash) {
  if (credential.flavor() == sunrpc_auth::Flavor::kNone) return {kAnonymous, kAnonymous, {}};
  const auto sent =
      credential.groups().first(std::min(credential.groups().size(), kGroupsOnTheWire));
  WireIdentity wire{credential.uid(), credential.gid(), {sent.begin(), sent.end()}};
  if (squash == Squash::kNone) return wire;
  if (wire.uid == 0 && squash == Squash::kIdsAndGroups) return {kAnonymous, kAnonymous, {}};
  const auto map = [](uint32_t& id) { id = id == 0 ? kAnonymous : id; };
  map(wire.uid);
  map(wire.gid);
  std::ranges::for_each(wire.groups, map);
  return wire;
}

}  // namespace nfswalk::differential
