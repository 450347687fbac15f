// strict_walk: answers that were true as a whole at one moment (WALK-16): double collect, by
// RCU-walk, of every dentry and attribute on the way.
//
// Each try walks under RCU with a read set, which RcuWalk::Confirm() compares last. Where that
// fails, ref-walk fills the caches for the next try. An answer of ref-walk about the tree is never
// reported, since its steps were true at different moments; any other error of it is.
//
// Thread safety: any number of calls at once. May sleep, but for WalkFlags::cached.
// Progress: 64 tries, then EAGAIN; without an attribute cache, only that.
#ifndef NFSWALK_NFSCLIENT_WALK_STRICT_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_STRICT_WALK_H_

#include <optional>
#include <system_error>

#include "nfsclient/walk/path_walk.h"
#include "nfsclient/walk/rcu_walk.h"
#include "nfsclient/walk/read_set.h"
#include "nfsclient/walk/ref_walk.h"

namespace nfswalk::walk {

inline constexpr int kStrictTries = 64;

// True for what RCU-walk answers as well: success, and what a path resolution finds in the tree.
// Other errors come from the server, the transport or a lack of memory.
inline bool IsTreeError(std::errc error) {
  return error == std::errc{} || error == std::errc::no_such_file_or_directory ||
         error == std::errc::not_a_directory || error == std::errc::permission_denied ||
         error == std::errc::too_many_symbolic_link_levels ||
         error == std::errc::filename_too_long || error == std::errc::cross_device_link ||
         error == std::errc::invalid_argument;
}

// Resolve() for WalkFlags::strict. Preconditions: walk.Begin().
template <class FinishRcu, class FinishRef>
[[gnu::noinline]] std::errc ResolveStrict(PathWalk& walk, const protocol::Protocol& protocol,
                                          FinishRcu& finish_rcu, FinishRef& finish_ref) {
  ReadSet read_set;
  std::optional<protocol::CallDeadline> deadline;
  for (int tries = kStrictTries; tries > 0; --tries) {
    read_set.Clear();
    const RcuOutcome outcome = walk.Rcu(finish_rcu, &read_set);
    if (outcome.need == nfs::NeedRef::kNone) return outcome.error;
    if (walk.must_not_sleep()) return std::errc::resource_unavailable_try_again;
    if (read_set.full() && !read_set.Grow()) return std::errc::not_enough_memory;
    if (!deadline) deadline.emplace(protocol.NewDeadline());
    std::errc error = walk.Ref(Revalidation::kAsNeeded, &RefWalk::Resolve, finish_ref);
    if (error == protocol::kStale) {
      error = walk.Ref(Revalidation::kForced, &RefWalk::Resolve, finish_ref);
    }
    if (!IsTreeError(error)) return error;
    read_set.TrustLookups();
    if (std::errc again = walk.Begin(); again != std::errc{}) return again;
  }
  return std::errc::resource_unavailable_try_again;
}

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_STRICT_WALK_H_
