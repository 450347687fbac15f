// stat_completion: how a stat ends (vfs_getattr_nosec()), under RCU and with references.
#ifndef NFSWALK_NFSCLIENT_API_STAT_COMPLETION_H_
#define NFSWALK_NFSCLIENT_API_STAT_COMPLETION_H_

#include <system_error>

#include "nfsclient/client.h"
#include "nfsclient/data/write_back.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/lookup.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/rcu_walk.h"
#include "nfsclient/walk/ref_walk.h"

namespace nfswalk {

// A completion of walk::Resolve(). `into` is written also where it fails.
[[gnu::always_inline]] inline walk::RcuOutcome StatRcu(const nfs::Superblock& superblock,
                                                       walk::RcuWalk& walk, Attributes& into) {
  // This window lies inside the dentry's, so that both were true at one instant (WALK-14).
  const nfs::NeedRef need =
      nfs::CopyFreshAttributesRcu(superblock, walk.inode(), walk.now_ns(), into);
  if (need != nfs::NeedRef::kNone) return {need};
  return walk.ConfirmUsed();
}

// A completion of walk::Resolve(): makes the attributes valid that nfs::CopyAttributes() copies
// next, the size of a file by what was written to it.
inline std::errc StatRef(nfs::Superblock& superblock, walk::RefWalk& walk) {
  const std::errc error = data::FlushWrites(superblock, walk.inode());
  if (error != std::errc{}) return error;
  walk.RefreshAhead();
  if (!walk.parent() && !walk.force()) {
    nfs::RevalidateNode(superblock, walk.position(), walk.credential());
  }
  return nfs::RevalidateInode(superblock, walk.inode(), walk.credential()->key(), walk.force());
}

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_API_STAT_COMPLETION_H_
