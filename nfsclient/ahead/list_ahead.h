// list_ahead: lists a directory whose children are asked for one after the other, so that the next
// ones are cached. nfs_use_readdirplus() decides by the same counter, lookup misses, whether a
// listing fetches attributes (NAME-21).
//
// The listing is made in the background. Lookups in the directory wait for its first reply, which
// may have their names, until a second after it began. A directory of more than 128 KiB, or 1 MiB
// where its children are cached already, is not listed: a listing ahead would show few of its
// names, and a server may keep lookups waiting for each reply (nfs-ganesha locks the directory).
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_AHEAD_LIST_AHEAD_H_
#define NFSWALK_NFSCLIENT_AHEAD_LIST_AHEAD_H_

#include <cstddef>
#include <span>
#include <system_error>

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

inline constexpr size_t kEntriesMax = 4096;
// Missing names from which on a directory of unknown size is listed.
inline constexpr size_t kMinMissesToList = 4;

// After a lookup that found a name which was not cached. Lists the directory if that is due and the
// mount wants it (rdirplus, and caches with a lifetime). Errors, of memory too, are ignored; the
// lookups that follow meet them.
//
// Names that do not exist do not count: a compiler that searches its include path misses thousands
// of them in directories of which it needs few files. A directory is listed at the 4th name found,
// the 64th and the 1024th (lookup_misses.h), and no further than kEntriesMax entries or a 64th of
// the limit of dentries: what a listing costs, and what it evicts, stays in proportion to what was
// asked for.
void ListAhead(Superblock& superblock, vfs::DentryRef& directory,
               const sunrpc_auth::Credential& credential);

// Before a GETATTR or LOOKUP for a cached child whose attributes have timed out, or whose name is
// to be verified because the directory has changed. The child that makes a listing due waits for
// its first reply; for all of it where the caller has to list itself, since enough calls run in the
// background. The caller asks for what is still not valid.
//
// The 2nd child in a row makes a listing due, the 4th where no listing has shown the length of the
// directory, in a long one a later one (ATTR-18).
void RefreshAhead(Superblock& superblock, vfs::DentryRef& directory, const icache::Inode& child,
                  const sunrpc_auth::Credential& credential);
// A directory of which a batch misses `names` different names.
struct MissedNames {
  vfs::DentryRef* directory = nullptr;
  size_t names = 0;
  bool listed = false;
};
// Before their LOOKUPs: lists the directories where that takes fewer calls, as above, all at the
// same time; sets `listed`. Some names may be missing still. Errors are ignored as above, but for
// timed_out and operation_canceled. Throws std::bad_alloc.
std::errc ListBatch(Superblock& superblock, std::span<MissedNames> missed,
                       const sunrpc_auth::Credential& credential);
// After a child was refreshed otherwise, with its directory: the next one is the 2nd in a row.
void NoteRefreshed(Superblock& superblock, const vfs::DentryRef& directory,
                   const icache::Inode& child);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_AHEAD_LIST_AHEAD_H_
