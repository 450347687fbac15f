// list_ahead: a directory of which one name after the other is asked for is listed once instead, so
// that the names to come are known already. The kernel decides by the same sign, lookups that miss,
// when a listing should bring attributes (NAME-21).
//
// Names that are not there do not count: a compiler that searches its include path asks for
// thousands of them in directories of which it wants next to nothing. A directory is listed at the
// 4th name found, the 64th, ... (lookup_misses.h), and no further than kEntriesMax entries: what
// a listing costs stays in proportion to what was asked for.
//
// Thread safety: any. ListAhead() may sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_LIST_AHEAD_H_
#define NFSWALK_NFSCLIENT_NFS_LIST_AHEAD_H_

#include <cstddef>

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

inline constexpr size_t kEntriesMax = 4096;

// Lists the directory if that is due and the mount wants it (rdirplus, and caches that may be
// believed). What goes wrong is met by the lookups that follow.
void ListAhead(Superblock& superblock, vfs::DentryRef& directory,
               const sunrpc_auth::Credential& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_LIST_AHEAD_H_
