// rcu_walk: the first pass. It takes no lock and no reference, allocates nothing and stores to
// nothing that another thread can see.
//
// Contract    Resolve() ends in a position, in an error that was as true as a success would have
//             been, or in the reason why a reference walk is needed. It is never retried:
//             inconsistency means kChanged, and the caller goes on with references (WALK-1).
// Invariants  I1 the position is {dentry, seq, inode}, inode having been read inside seq's window.
//             I2 a child's window is open before its parent's is closed (WALK-3).
//             I3 no error and no success leaves without a last look at the position's seq.
// Protocol    with locks:  lock(dir); child = find(name); lock(child); unlock(dir); dir = child
//             here:        child, s = find(name); read child; check dir's seq; check s; dir = child
// Staleness   the directories behind the position may have moved since: what is shown is a chain
//             of steps each of which was true, overlapping in time (WALK-15). `strict`
//             re-checks them all.
//             What the path cache says of the way to a directory was all true at one moment of the
//             walk; the ladder goes on from there.
// Progress    bounded by the components of the path and of at most 40 links.
// Lifetime    everything reached is kept by the caller's RCU section.
// Tests       tests/integration/walk_test.cc, tests/integration/warm_walk_test.cc
#ifndef NFSWALK_NFSCLIENT_WALK_RCU_WALK_H_
#define NFSWALK_NFSCLIENT_WALK_RCU_WALK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/walk/path_buffer.h"
#include "nfsclient/walk/path_cache.h"
#include "nfsclient/walk/read_set.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::walk {

// Either a reason to go on with references, or an answer: errc{} or the call's error.
struct RcuOutcome {
  NeedRef need = NeedRef::kNone;
  std::errc error{};

  bool ok() const { return need == NeedRef::kNone && error == std::errc{}; }
};

class RcuWalk {
 public:
  // Preconditions: an RCU section that outlives the walk. `path` is at its beginning.
  // `read_set` is for strict walks, `path_cache` (may be null) for others that begin at the
  // export's root.
  RcuWalk(Superblock& superblock, const WalkStart& start, PathBuffer& path,
          const sunrpc_auth::Credential& credential, const WalkFlags& flags,
          std::span<Visited> read_set, PathCache* path_cache);

  RcuOutcome Resolve();

  // Closes the position's window; the last thing before an answer is given.
  RcuOutcome Confirm(std::errc error = {}) const;

  // The same for success; near the cache's limit it also tells reclaim that the dentry is in use.
  RcuOutcome ConfirmUsed() const {
    if (superblock_.dentries.under_pressure()) superblock_.dentries.MarkUsed(*at_.dentry);
    return Confirm();
  }

  icache::Inode& inode() const { return *at_.inode; }
  // PermissionRcu() on the position.
  nfs::RcuPermission Permission(uint32_t may_mask);
  const sunrpc_auth::CachedCredential* credential() const { return credential_; }
  const AccessHits& hits() const { return hits_; }
  uint64_t now_ns() const { return now_ns_; }
  int links() const { return links_; }
  // The path cache knew the way to the last component's directory.
  bool prefix_hit() const { return prefix_hit_; }
  // A strict walk may not have had enough of it; another never uses any.
  bool read_set_full() const { return visited_count_ == read_set_.size(); }

  // unlazy: a reference on the position, to resume the walk from; empty if it has changed. A
  // reference that was taken in vain is left in `unwanted`, to be dropped after the RCU section.
  vfs::DentryRef Unlazy(vfs::DentryRef& unwanted) const;

 private:
  static Position PositionOf(const vfs::DentryRef& start);
  RcuOutcome Enter();
  RcuOutcome StepToParent();
  RcuOutcome StepToChild(const vfs::Name& name, bool* more);
  RcuOutcome FollowLink(const vfs::Dentry& link, uint64_t seq, const icache::Inode& inode,
                        const char* rest);
  RcuOutcome MoveTo(Position position);
  bool Remember(const rcu::SeqCount& count, uint64_t sample);
  const vfs::Dentry* TakePrefix();
  void RecordPrefix();

  Superblock& superblock_;
  const WalkStart start_;
  PathBuffer& path_;
  const WalkFlags& flags_;
  const sunrpc_auth::CachedCredential* const credential_;
  const uint64_t now_ns_;
  Position at_;
  int links_ = 0;
  AccessHits hits_;
  const std::span<Visited> read_set_;
  size_t visited_count_ = 0;

  PathCache* const path_cache_;
  bool prefix_hit_ = false;
  // What the path cache is to remember, if the walk gets there; else empty.
  PathCache::Prefix prefix_ = {};
  uint64_t prefix_sample_ = 0;
  ValidityInterval prefix_validity_ = {};
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_RCU_WALK_H_
