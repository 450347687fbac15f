// path_walk: one resolution of a path: what its passes share, and what RCU-walk leaves to ref-walk
// (struct nameidata). walk.h has the order of the passes.
//
// Thread safety: one call's own. Lifetime: what the constructor is given outlives it. Drops
// references when destroyed: not inside an RCU section.
#ifndef NFSWALK_NFSCLIENT_WALK_PATH_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_PATH_WALK_H_

#include <cassert>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/path_cache.h"
#include "nfsclient/walk/rcu_walk.h"
#include "nfsclient/walk/read_set.h"
#include "nfsclient/walk/ref_walk.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"
#include "rcu/read_guard.h"

namespace nfswalk::walk {

// An RCU-walk's completion for a call that works on a reference in any case.
struct CompleteWalk {
  RcuOutcome operator()(RcuWalk& /*walk*/) const { return {nfs::NeedRef::kComplete}; }
};

class PathWalk {
 public:
  PathWalk(nfs::Superblock& superblock, const WalkStart& start, std::string_view path,
           const sunrpc_auth::Credential& credential, const WalkFlags& flags)
      : superblock_(superblock),
        start_(start),
        path_(path),
        credential_(credential),
        flags_(flags) {}
  PathWalk(const PathWalk&) = delete;
  PathWalk& operator=(const PathWalk&) = delete;

  // Sets the walk to the beginning of its path. Errors: PathBuffer::Assign()'s; cross_device_link
  // (WALK-13).
  std::errc Begin() {
    if (std::errc error = rest_.Assign(path_); error != std::errc{}) return error;
    return flags_.beneath && path_.front() == '/' ? std::errc::cross_device_link : std::errc{};
  }

  // RCU-walk. If a reference is needed, legitimizes where it left off (try_to_unlazy(), WALK-2) and
  // counts the reason. A strict walk gives a `read_set`, empty, and starts over instead.
  // Preconditions: Begin().
  template <class Finish>
  [[gnu::always_inline]] inline RcuOutcome Rcu(Finish&& finish, ReadSet* read_set = nullptr) {
    return Rcu(&RcuWalk::Resolve, finish, read_set);
  }

  // RCU-walk for a call that works on a reference (complete_walk(), WALK-29): to the end of the
  // path, or, where ref-walk looks the last component up, to its directory; with may_be_delegated
  // first the one, then the other. `resolve`: one of
  // RefWalk's; unless RCU-walk answers, Ref() of the same goes on there. `finish`: run at the end
  // of the path, where RCU-walk goes there. Preconditions: Begin().
  template <class Finish = CompleteWalk>
  RcuOutcome RcuToReference(std::errc (RefWalk::*resolve)(), Finish&& finish = {}) {
    if (resolve == &RefWalk::Resolve && !flags_.open) {
      return Rcu(&RcuWalk::Resolve, finish, nullptr);
    }
    if (resolve == &RefWalk::Resolve && flags_.may_be_delegated) {
      const RcuOutcome outcome = Rcu(&RcuWalk::Resolve, finish, nullptr);
      if (outcome.need == nfs::NeedRef::kNone) return outcome;
      // An OPEN by name begins at the directory, whatever the name has led to.
      (void)TakePosition();
      if (std::errc error = Begin(); error != std::errc{}) return {nfs::NeedRef::kNone, error};
    }
    return Rcu(&RcuWalk::ResolveParent, CompleteWalk(), nullptr);
  }

  // Ref-walk, from where RCU-walk left off, once; else from the start. `resolve`: one of RefWalk's.
  // Errors: the walk's and those of `finish`; operation_canceled after
  // shutdown; not_enough_memory also for a std::bad_alloc of either.
  template <class Finish>
  [[gnu::noinline]] std::errc Ref(Revalidation revalidation, std::errc (RefWalk::*resolve)(),
                                  Finish&& finish);

  // RcuToReference(), unless revalidation is forced, and Ref(): one pass of a call that works on a
  // reference. Preconditions: Begin(), but for a forced pass.
  template <class Finish, class FinishRcu = CompleteWalk>
  std::errc ToReference(Revalidation revalidation, std::errc (RefWalk::*resolve)(), Finish&& finish,
                        FinishRcu&& finish_rcu = {}) {
    if (revalidation == Revalidation::kAsNeeded) {
      const RcuOutcome outcome = RcuToReference(resolve, finish_rcu);
      if (outcome.need == nfs::NeedRef::kNone) return outcome.error;
    }
    return Ref(revalidation, resolve, finish);
  }

  // Takes the position at which Rcu() left off; empty if the walk has to start over. Instead of
  // Ref().
  vfs::DentryRef TakePosition() {
    cached_credential_ = {};
    unwanted_ = {};
    return std::move(position_);
  }
  std::string_view rest() const { return rest_.rest(); }

  // True if ref-walk, which may sleep, is not allowed. A walk after shutdown does not sleep.
  bool must_not_sleep() const { return flags_.cached && !superblock_.shut_down.load(); }

 private:
  template <class Finish>
  [[gnu::always_inline]] inline RcuOutcome Rcu(RcuOutcome (RcuWalk::*resolve)(), Finish&& finish,
                                               ReadSet* read_set);

  // nullptr if this walk may not use it (WALK-17). Preconditions: no RCU section: may allocate.
  PathCache* UsablePathCache() const {
    const bool usable = superblock_.options.path_cache &&
                        superblock_.options.walk == nfs::WalkMode::kRcuSearch && !flags_.strict &&
                        &start_.at == &superblock_.root;
    return usable ? PathCache::OfThread() : nullptr;
  }

  nfs::Superblock& superblock_;
  const WalkStart start_;
  const std::string_view path_;
  const sunrpc_auth::Credential& credential_;
  const WalkFlags& flags_;

  PathBuffer rest_;
  // The position at which RCU-walk left off; empty: start over.
  vfs::DentryRef position_;
  sunrpc_auth::CredentialRef cached_credential_;  // with `position_`
  int links_ = 0;
  // A reference whose sequence check failed, kept until the RCU section has ended.
  vfs::DentryRef unwanted_;
};

template <class Finish>
RcuOutcome PathWalk::Rcu(RcuOutcome (RcuWalk::*resolve)(), Finish&& finish, ReadSet* read_set) {
  RcuOutcome outcome{nfs::NeedRef::kRefMode};
  if (superblock_.walks_under_rcu.load()) {
    assert(!position_ && !unwanted_ &&
           !cached_credential_);  // they must not be dropped inside the section
    // The prefix of "d/" leads to d, which a walk to the last component's directory must not enter.
    const bool enters_last = resolve == &RcuWalk::ResolveParent && path_.ends_with('/');
    PathCache* const path_cache = enters_last ? nullptr : UsablePathCache();
    rcu::ReadGuard guard;
    RcuWalk walk(superblock_, start_, rest_, credential_, flags_, read_set, path_cache);
    outcome = (walk.*resolve)();
    if (outcome.ok()) outcome = finish(walk);
    superblock_.Count(walk.hits());
    if (outcome.need == nfs::NeedRef::kNone) [[likely]] {
      superblock_.Count(nfs::kRcuWalks);
      if (walk.prefix_hit()) superblock_.Count(nfs::kPathHits);
      return outcome;
    }
    if (read_set == nullptr && outcome.need != nfs::NeedRef::kChanged &&
        walk.credential() != nullptr) {
      position_ = walk.Unlazy(unwanted_);
      links_ = walk.links();
      if (position_) cached_credential_ = superblock_.credentials.TakeReference(walk.credential());
    }
  }
  superblock_.Count(flags_.call, outcome.need);
  return outcome;
}

template <class Finish>
std::errc PathWalk::Ref(Revalidation revalidation, std::errc (RefWalk::*resolve)(),
                        Finish&& finish) try {
  if (superblock_.shut_down.load()) return std::errc::operation_canceled;
  if (revalidation == Revalidation::kAsNeeded) superblock_.Count(nfs::kRefWalks);
  if (!cached_credential_) {
    auto credential = superblock_.credentials.Lookup(credential_);
    if (!credential) return credential.error();
    cached_credential_ = std::move(*credential);
  }
  RefWalk walk(superblock_, start_, rest_, std::exchange(cached_credential_, {}), flags_,
               revalidation);
  if (position_) {
    walk.Resume(std::exchange(position_, {}), links_);
  } else {
    if (std::errc error = rest_.Assign(path_); error != std::errc{}) return error;
    walk.Start();
  }
  if (std::errc error = (walk.*resolve)(); error != std::errc{}) return error;
  return finish(walk);
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_PATH_WALK_H_
