// walk: resolves a path as filename_lookup() of fs/namei.c does (WALK-1): RCU-walk; ref-walk from
// where that left off; after ESTALE, ref-walk with forced revalidation.
//
// Thread safety: any number of calls at once. May sleep, but for WalkFlags::cached.
#ifndef NFSWALK_NFSCLIENT_WALK_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_WALK_H_

#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_walk.h"
#include "nfsclient/walk/rcu_walk.h"
#include "nfsclient/walk/ref_walk.h"
#include "nfsclient/walk/strict_walk.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"

namespace nfswalk::walk {

// Resolves `path` and runs the caller's completion at its end. Under RCU that is
// `finish_rcu(RcuWalk&)`, which returns a reason to leave or what RcuWalk::Confirm() returned last;
// else `finish_ref(RefWalk&)`, which returns an errc. Both may run; the last one's result counts. A
// leading '/' stands for `start`. Errors: those of the path, the server and the completions;
// operation_canceled after shutdown; resource_unavailable_try_again of `cached` and `strict`
// (WALK-13, WALK-16).
template <class FinishRcu, class FinishRef>
std::errc Resolve(nfs::Superblock& superblock, const WalkStart& start, std::string_view path,
                  const sunrpc_auth::Credential& credential, const WalkFlags& flags,
                  FinishRcu&& finish_rcu, FinishRef&& finish_ref) {
  PathWalk walk(superblock, start, path, credential, flags);
  if (std::errc error = walk.Begin(); error != std::errc{}) return error;
  if (flags.strict) [[unlikely]]
    return ResolveStrict(walk, *superblock.protocol, finish_rcu, finish_ref);

  const RcuOutcome outcome = walk.Rcu(finish_rcu);
  if (outcome.need == nfs::NeedRef::kNone) [[likely]]
    return outcome.error;
  if (walk.must_not_sleep()) return std::errc::resource_unavailable_try_again;
  const protocol::CallDeadline deadline(superblock.protocol->NewDeadline());
  std::errc error = walk.Ref(Revalidation::kAsNeeded, &RefWalk::Resolve, finish_ref);
  if (error == protocol::kStale) {
    error = walk.Ref(Revalidation::kForced, &RefWalk::Resolve, finish_ref);
  }
  return error;
}

// Resolves for calls that change something, open a file or list a directory, and work on a
// reference (complete_walk(), WALK-29). `resolve`: one of RefWalk's. `finish_rcu`: as above, where
// RCU-walk goes to the end of the path (path_walk.h), for what needs no RPC. Never strict.
template <class Finish, class FinishRcu = CompleteWalk>
std::errc ResolveToReference(nfs::Superblock& superblock, const WalkStart& start,
                             std::string_view path, const sunrpc_auth::Credential& credential,
                             const WalkFlags& flags, std::errc (RefWalk::*resolve)(),
                             Finish&& finish, FinishRcu&& finish_rcu = {}) {
  PathWalk walk(superblock, start, path, credential, flags);
  if (std::errc error = walk.Begin(); error != std::errc{}) return error;
  const protocol::CallDeadline deadline(superblock.protocol->NewDeadline());
  std::errc error = walk.ToReference(Revalidation::kAsNeeded, resolve, finish, finish_rcu);
  if (error == protocol::kStale) error = walk.ToReference(Revalidation::kForced, resolve, finish);
  return error;
}

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_WALK_H_
