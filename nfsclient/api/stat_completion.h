// stat_completion: how a stat ends under RCU (vfs_getattr_nosec() after an RCU-walk).
#ifndef NFSWALK_NFSCLIENT_API_STAT_COMPLETION_H_
#define NFSWALK_NFSCLIENT_API_STAT_COMPLETION_H_

#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/walk/rcu_walk.h"

namespace nfswalk {

// A completion of walk::Resolve(). `into` is written also where it fails.
[[gnu::always_inline]] inline walk::RcuOutcome StatRcu(walk::RcuWalk& walk, Attributes& into) {
  // This window lies inside the dentry's, so that both were true at one instant (WALK-14).
  const nfs::NeedRef need = nfs::CopyFreshAttributesRcu(walk.inode(), walk.now_ns(), into);
  if (need != nfs::NeedRef::kNone) return {need};
  return walk.ConfirmUsed();
}

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_API_STAT_COMPLETION_H_
