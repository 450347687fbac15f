// walk: the three passes of a path resolution (WALK-1): RCU; with references from where that
// left off, or from the start; with references and every name asked for again, after ESTALE.
//
// Thread safety: any number at once. May sleep unless WalkFlags say cached.
#ifndef NFSWALK_NFSCLIENT_WALK_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_WALK_H_

#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/rcu_walk.h"
#include "nfsclient/walk/ref_walk.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"
#include "rcu/read_guard.h"

namespace nfswalk::walk {

// Resolves `path` and lets the call's own end have the result. `finish_rcu(RcuWalk&)` runs inside
// the RCU section and answers an RcuOutcome, having closed the window with Confirm();
// `finish_ref(RefWalk&)` answers errc. Exactly one of them ends the call, though both may run. A
// path that begins with '/' begins at `start`, too. operation_canceled once the superblock is shut
// down.
template <class FinishRcu, class FinishRef>
std::errc Resolve(Superblock& superblock, const WalkStart& start, std::string_view path,
                  const sunrpc_auth::Credential& credential, const WalkFlags& flags,
                  FinishRcu&& finish_rcu, FinishRef&& finish_ref);

// A walk with references only, for calls that change something or open a file. `resolve` is
// &RefWalk::Resolve or &RefWalk::ResolveParent.
template <class Finish>
std::errc ResolveRef(Superblock& superblock, const WalkStart& start, std::string_view path,
                     const sunrpc_auth::Credential& credential, WalkFlags flags,
                     std::errc (RefWalk::*resolve)(), Finish&& finish);

// The same from the export's root.
template <class Finish>
std::errc ResolveRef(Superblock& superblock, std::string_view path,
                     const sunrpc_auth::Credential& credential, WalkFlags flags,
                     std::errc (RefWalk::*resolve)(), Finish&& finish) {
  return ResolveRef(superblock, AtRoot(superblock), path, credential, flags, resolve,
                    std::forward<Finish>(finish));
}

namespace internal {

// True for what pass one can answer as well. Everything else comes from the server, from the wire
// or from want of memory, and is no statement about the tree.
inline bool IsTreeError(std::errc error) {
  return error == std::errc{} || error == std::errc::no_such_file_or_directory ||
         error == std::errc::not_a_directory || error == std::errc::permission_denied ||
         error == std::errc::too_many_symbolic_link_levels ||
         error == std::errc::filename_too_long || error == std::errc::cross_device_link ||
         error == std::errc::invalid_argument;
}

// Passes two and three. `position` is where pass one left off, or empty. Here std::bad_alloc of the
// strings and containers below becomes not_enough_memory: whatever they had begun goes with its
// references.
template <class Finish>
std::errc WithReferences(Superblock& superblock, const WalkStart& start, PathBuffer& buffer,
                         std::string_view path, const sunrpc_auth::Credential& credential,
                         WalkFlags flags, vfs::DentryRef position, int links,
                         std::errc (RefWalk::*resolve)(), Finish&& finish) try {
  if (superblock.shut_down.load()) return std::errc::operation_canceled;
  superblock.Count(kRefWalks);
  auto reference = superblock.credentials.Lookup(credential);
  if (!reference) return reference.error();
  for (bool force = false;; force = true) {
    RefWalk walk(superblock, start, buffer, *reference, flags, force);
    if (position) {
      walk.Resume(std::move(position), links);
      position = {};
    } else {
      if (auto error = buffer.Assign(path); error != std::errc{}) return error;
      walk.Start();
    }
    std::errc error = (walk.*resolve)();
    if (error == std::errc{}) error = finish(walk);
    if (error != protocol::kStale || force) return error;
  }
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

}  // namespace internal

template <class FinishRcu, class FinishRef>
std::errc Resolve(Superblock& superblock, const WalkStart& start, std::string_view path,
                  const sunrpc_auth::Credential& credential, const WalkFlags& flags,
                  FinishRcu&& finish_rcu, FinishRef&& finish_ref) {
  PathBuffer buffer;
  if (auto error = buffer.Assign(path); error != std::errc{}) return error;
  if (flags.beneath && path.front() == '/') return std::errc::cross_device_link;

  // A strict answer about the tree can only come from pass one; the others fill the caches for the
  // next try.
  constexpr int kStrictTries = 64;
  ReadSet read_set;
  // Before the RCU section, in which it could not be made. It knows ways from the export's root.
  const bool remembers_ways = superblock.options.path_cache &&
                              superblock.options.walk == WalkMode::kRcuSearch && !flags.strict &&
                              &start.at == &superblock.root;
  PathCache* const path_cache = remembers_ways ? PathCache::OfThread() : nullptr;
  for (int tries = flags.strict ? kStrictTries : 1; tries > 0; --tries) {
    vfs::DentryRef position, unwanted;
    int links = 0;
    bool room_full = false;
    RcuOutcome outcome{NeedRef::kRefMode};
    if (superblock.walks_under_rcu.load()) {
      rcu::ReadGuard guard;
      RcuWalk walk(superblock, start, buffer, credential, flags, read_set.get(), path_cache);
      outcome = walk.Resolve();
      if (outcome.ok()) outcome = finish_rcu(walk);
      superblock.Count(walk.hits());
      if (outcome.need == NeedRef::kNone) [[likely]] {
        superblock.Count(kRcuWalks);
        if (walk.prefix_hit()) superblock.Count(kPathHits);
        return outcome.error;
      }
      room_full = walk.read_set_full();
      // A strict walk starts over: the next try wants the whole way from its start anyway.
      if (!flags.strict && outcome.need != NeedRef::kChanged && walk.credential() != nullptr) {
        position = walk.Unlazy(unwanted);
        links = walk.links();
      }
    }
    superblock.Count(outcome.need);
    if (flags.cached && !superblock.shut_down.load()) {
      return std::errc::resource_unavailable_try_again;
    }
    if (room_full && !read_set.Grow()) return std::errc::not_enough_memory;
    std::errc error =
        internal::WithReferences(superblock, start, buffer, path, credential, flags,
                                 std::move(position), links, &RefWalk::Resolve, finish_ref);
    if (!flags.strict || !internal::IsTreeError(error)) return error;
    if (auto again = buffer.Assign(path); again != std::errc{}) return again;
  }
  return std::errc::resource_unavailable_try_again;
}

template <class Finish>
std::errc ResolveRef(Superblock& superblock, const WalkStart& start, std::string_view path,
                     const sunrpc_auth::Credential& credential, WalkFlags flags,
                     std::errc (RefWalk::*resolve)(), Finish&& finish) {
  PathBuffer buffer;
  if (auto error = buffer.Assign(path); error != std::errc{}) return error;
  if (flags.beneath && path.front() == '/') return std::errc::cross_device_link;
  return internal::WithReferences(superblock, start, buffer, path, credential, flags, {}, 0,
                                  resolve, std::forward<Finish>(finish));
}

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_WALK_H_
