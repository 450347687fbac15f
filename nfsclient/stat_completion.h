// stat_completion: how a stat ends under RCU (vfs_getattr_nosec() after an RCU-walk).
#ifndef NFSWALK_NFSCLIENT_STAT_COMPLETION_H_
#define NFSWALK_NFSCLIENT_STAT_COMPLETION_H_

#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/walk/rcu_walk.h"
#include "rcu/sync_point.h"

namespace nfswalk {

// A completion of walk::Resolve(). `into` is written also where it fails.
[[gnu::always_inline]] inline walk::RcuOutcome StatRcu(walk::RcuWalk& walk, Attributes& into) {
  if (!nfs::AttributesFresh(walk.inode(), walk.now_ns())) return {nfs::NeedRef::kGetattrRpc};
  NFSWALK_SYNC_POINT("stat:before-attributes");
  // This window lies inside the dentry's, so that both were true at one instant (WALK-14).
  if (!nfs::CopyAttributesRcu(walk.inode(), into)) return {nfs::NeedRef::kChanged};
  return walk.ConfirmUsed();
}

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_STAT_COMPLETION_H_
