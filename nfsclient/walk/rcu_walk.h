// rcu_walk: RCU-walk (path_lookupat() with LOOKUP_RCU): takes no reference and allocates nothing.
// In rcu-search, where the caches have all answers, it takes no lock and stores to nothing that
// another thread reads, but for a mark of use near the limit of dentries (WALK-20, WALK-24).
//
// Contract    Resolve() ends in a position, in an error that was compared like a success, or in the
//             reason why ref-walk is needed. It is never retried: inconsistency means kChanged, and
//             the caller goes on with ref-walk (WALK-1).
// Invariants  I1 the position is {dentry, seq, inode}, inode having been read inside seq's window.
//             I2 a child's window is opened before its parent's is closed (WALK-3).
//             I3 no error and no success leaves without a last comparison of the position's seq
//             (WALK-8).
// Protocol    with locks:  lock(dir); child = find(name); lock(child); unlock(dir); dir = child
//             here:        child, s = find(name); read child; check dir's seq; check s; dir = child
// Staleness   the directories behind the position may have moved since: the steps were each true,
//             consecutive ones at overlapping times (WALK-15). A strict walk compares them all
//             again (WALK-16).
//             What the path cache has of a prefix was all true at one moment of the walk; the walk
//             goes on from there hand-over-hand.
// Progress    bounded by the components of the path and of at most 40 links.
// Lifetime    everything reached is kept by the caller's RCU section (WALK-25).
// Tests       tests/unit/nfsclient/walk/complete_walk_test.cc, tests/integration/walk_test.cc,
// tests/integration/warm_walk_test.cc
#ifndef NFSWALK_NFSCLIENT_WALK_RCU_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_RCU_WALK_H_

#include <cstdint>
#include <system_error>

#include "nfsclient/nfs/permission.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/path_cache.h"
#include "nfsclient/walk/prefix_recorder.h"
#include "nfsclient/walk/read_set.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

// Either a reason to go on with ref-walk, or an answer: errc{} or the call's error.
struct RcuOutcome {
  nfs::NeedRef need = nfs::NeedRef::kNone;
  std::errc error{};

  bool ok() const { return need == nfs::NeedRef::kNone && error == std::errc{}; }
};

class RcuWalk {
 public:
  // Preconditions: an RCU section that outlives the walk. `path` is at its beginning. `read_set`:
  // of a strict walk, else null. `path_cache`: for a walk from the export's root, else null.
  RcuWalk(nfs::Superblock& superblock, const WalkStart& start, PathBuffer& path,
          const sunrpc_auth::Credential& credential, const WalkFlags& flags, ReadSet* read_set,
          PathCache* path_cache);

  RcuOutcome Resolve();
  // path_parentat(): to the directory of the last component, which the credential may search; the
  // start of "/".
  RcuOutcome ResolveParent();

  // Closes the position's window; the last thing before an answer is given.
  RcuOutcome Confirm(std::errc error = {}) const;

  // Confirm() for success; near the cache's limit it also marks the dentry as used, for reclaim
  // (DCACHE_REFERENCED, WALK-24).
  RcuOutcome ConfirmUsed() const {
    if (superblock_.dentries.under_pressure()) superblock_.dentries.MarkUsed(*at_.dentry);
    return Confirm();
  }

  icache::Inode& inode() const { return *at_.inode; }
  // With WalkFlags::may_be_missing: the position is a negative dentry, inode() must not be called.
  bool missing() const { return at_.inode == nullptr; }
  const vfs::Dentry& dentry() const { return *at_.dentry; }
  // The directory that the position is a name in; counts if Confirm() succeeds afterwards.
  const icache::Inode& parent_inode() const;
  // PermissionRcu() on the position.
  nfs::RcuPermission Permission(uint32_t may_mask);
  const sunrpc_auth::CachedCredential* credential() const { return credential_; }
  const nfs::AccessHits& hits() const { return hits_; }
  uint64_t now_ns() const { return now_ns_; }
  int links() const { return links_; }
  // True if the walk began at the directory of its last component.
  bool prefix_hit() const { return prefix_.hit(); }

  // A reference on the position, for an answer that was confirmed before; empty if its dentry has
  // died meanwhile.
  vfs::DentryRef Reference() const { return superblock_.dentries.TryReference(at_.dentry); }

  // try_to_unlazy(): a reference on the position, to resume the walk from; empty if it has changed.
  // A reference whose sequence check failed is left in `unwanted`, to be dropped after the RCU
  // section (WALK-2).
  vfs::DentryRef Unlazy(vfs::DentryRef& unwanted) const;

 private:
  enum class Goal { kPosition, kParent };
  template <Goal goal>
  RcuOutcome LinkPathWalk();
  static Position PositionOf(const vfs::DentryRef& start);
  RcuOutcome MayLookup();
  RcuOutcome FollowDotDot();
  RcuOutcome StepToChild(const vfs::Name& name, bool* more);
  RcuOutcome FollowLink(const vfs::Dentry& link, uint64_t seq, const icache::Inode& inode,
                        const vfs::Name& name);
  RcuOutcome MoveTo(Position position);

  nfs::Superblock& superblock_;
  const WalkStart& start_;
  PathBuffer& path_;
  const WalkFlags& flags_;
  const sunrpc_auth::CachedCredential* const credential_;
  const uint64_t now_ns_;
  const uint64_t delegation_ends_;
  Position at_;
  int links_ = 0;
  nfs::AccessHits hits_;
  ReadSet* const read_set_;
  PrefixRecorder prefix_;
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_RCU_WALK_H_
