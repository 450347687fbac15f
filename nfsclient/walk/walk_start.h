// walk_start: where a walk begins and what it takes for the root.
//
// Thread safety: as any value. Lifetime: the references outlive the walk.
#ifndef NFSWALK_NFSCLIENT_WALK_WALK_START_H_
#define NFSWALK_NFSCLIENT_WALK_WALK_START_H_

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::walk {

struct WalkStart {
  const vfs::DentryRef& at;
  // Where absolute links begin and `..` ends: the export's root, or `at` if the walk may not leave
  // what is below it (openat2(2): RESOLVE_BENEATH, RESOLVE_IN_ROOT).
  const vfs::DentryRef& root;

  // A root of its own, which a rename could carry a walker out of.
  bool scoped(const Superblock& superblock) const { return &root != &superblock.root; }
};

inline WalkStart AtRoot(const Superblock& superblock) { return {superblock.root, superblock.root}; }

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_WALK_START_H_
