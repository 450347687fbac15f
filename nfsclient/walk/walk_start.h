// walk_start: where a path resolution begins, and its root (nd->path and nd->root).
//
// Thread safety: as any value. Lifetime: the references outlive the walk.
#ifndef NFSWALK_NFSCLIENT_WALK_WALK_START_H_
#define NFSWALK_NFSCLIENT_WALK_WALK_START_H_

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::walk {

struct WalkStart {
  const vfs::DentryRef& at;
  // Absolute links begin here, and ".." stays here: the export's root, or `at` for a scoped walk
  // (openat2(2): RESOLVE_BENEATH, RESOLVE_IN_ROOT).
  const vfs::DentryRef& root;

  // True if a rename could carry the walk out of its root (WALK-13).
  bool scoped(const nfs::Superblock& superblock) const { return &root != &superblock.root; }
};

inline WalkStart AtRoot(const nfs::Superblock& superblock) {
  return {superblock.root, superblock.root};
}

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_WALK_START_H_
