// walk_flags: what a call asks of its path resolution (LOOKUP_* of include/linux/namei.h).
#ifndef NFSWALK_NFSCLIENT_WALK_WALK_FLAGS_H_
#define NFSWALK_NFSCLIENT_WALK_WALK_FLAGS_H_

#include "nfsclient/superblock/stats.h"

namespace nfswalk::walk {

// MAXSYMLINKS: all links of one call together, nested or not (WALK-10).
inline constexpr int kLinksMax = 40;

struct WalkFlags {
  nfs::PathCall call = nfs::PathCall::kStat;  // whose walk it is, for stats()
  bool follow_last = true;                    // LOOKUP_FOLLOW
  bool no_symlinks = false;                   // LOOKUP_NO_SYMLINKS
  bool beneath = false;                       // LOOKUP_BENEATH
  bool strict = false;                        // linearizable (WALK-16)
  bool cached = false;      // LOOKUP_CACHED: EAGAIN instead of anything that may sleep
  bool open = false;        // LOOKUP_OPEN: the server opens the file by its name
  bool may_be_delegated = false;  // with `open`: a delegation may do instead
  bool may_be_missing = false;  // a missing last name is itself the result
  bool dont_cache = false;      // I_DONTCACHE of the last inode, if the walk brought it in
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_WALK_FLAGS_H_
