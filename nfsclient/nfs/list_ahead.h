// list_ahead: lists a directory whose names are looked up one after the other, so that the next
// names are cached. nfs_use_readdirplus() decides by the same counter, lookup misses, whether a
// listing fetches attributes (NAME-21).
//
// Names that do not exist do not count: a compiler that searches its include path misses thousands
// of them in directories of which it needs few files. A directory is listed at the 4th name found,
// the 64th, ... (lookup_misses.h), and no further than kEntriesMax entries: what a listing costs
// stays in proportion to what was asked for.
//
// Thread safety: any. ListAhead() may sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_LIST_AHEAD_H_
#define NFSWALK_NFSCLIENT_NFS_LIST_AHEAD_H_

#include <cstddef>

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

inline constexpr size_t kEntriesMax = 4096;

// Lists the directory if that is due and the mount wants it (rdirplus, and caches
// with a lifetime). Errors are ignored; the lookups that follow meet them.
void ListAhead(Superblock& superblock, vfs::DentryRef& directory,
               const sunrpc_auth::Credential& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_LIST_AHEAD_H_
