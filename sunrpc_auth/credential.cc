#include "sunrpc_auth/credential.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rcu/mix64.h"
namespace nfswalk::sunrpc_auth {
namespace {

uint64_t HashOf(Flavor flavor, uint32_t uid, uint32_t gid, std::span<const uint32_t> groups) {
  uint64_t hash = rcu::Mix64(static_cast<uint64_t>(flavor), uint64_t{uid} << 32 | gid);
  for (uint32_t group : groups) hash = rcu::Mix64(hash, group);
  return hash;
}

}  // namespace

Credential::Credential() : flavor_(Flavor::kNone), hash_(HashOf(Flavor::kNone, 0, 0, {})) {}

Credential::Credential(uint32_t uid, uint32_t gid, std::vector<uint32_t> groups)
    : flavor_(Flavor::kSys), uid_(uid), gid_(gid), groups_(std::move(groups)) {
  hash_ = HashOf(flavor_, uid_, gid_, groups_);
}

Credential Credential::OfProcess() {
  static_assert(sizeof(gid_t) == sizeof(uint32_t));
  std::vector<uint32_t> groups;
  int count;
  do {
    // One more: with none it would count them again.
    groups.resize(1 + static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
    count = getgroups(static_cast<int>(groups.size()), groups.data());
  } while (count < 0 && errno == EINVAL);  // another thread has set more of them in between
  groups.resize(static_cast<size_t>(std::max(count, 0)));
  return Credential(geteuid(), getegid(), std::move(groups));
}

bool operator==(const Credential& a, const Credential& b) {
  return a.hash_ == b.hash_ && a.flavor_ == b.flavor_ && a.uid_ == b.uid_ && a.gid_ == b.gid_ &&
         a.groups_ == b.groups_;
}

}  // namespace nfswalk::sunrpc_auth
