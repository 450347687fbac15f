#include "nfsclient/mount/callers.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace nfswalk::mount {
namespace {

// From /proc; none of a thread that it does not show.
std::vector<uint32_t> GroupsOf(fuse_req_t request) {
  std::vector<gid_t> groups(32);
  while (true) {
    const int count = fuse_req_getgroups(request, static_cast<int>(groups.size()), groups.data());
    if (count < 0) return {};
    const auto found = static_cast<size_t>(count);
    const bool all = found <= groups.size();
    groups.resize(found);
    if (all) return groups;
  }
}

}  // namespace

std::shared_ptr<const Credential> Callers::Of(fuse_req_t request) {
  if (!others_) return own_;
  const fuse_ctx& caller = *fuse_req_ctx(request);
  const auto now = std::chrono::steady_clock::now();
  Known& known = known_[static_cast<size_t>(caller.pid) % known_.size()];
  {
    const std::lock_guard lock(mutex_);
    if (known.credential != nullptr && known.caller.pid == caller.pid &&
        known.caller.uid == caller.uid && known.caller.gid == caller.gid && now < known.until) {
      return known.credential;
    }
  }
  auto credential = std::make_shared<const Credential>(
      caller.uid, caller.gid, groups_shown_ ? GroupsOf(request) : std::vector<uint32_t>{});
  const std::lock_guard lock(mutex_);
  known = {caller, now + kGroupsLifetime, credential};
  return credential;
}

}  // namespace nfswalk::mount
