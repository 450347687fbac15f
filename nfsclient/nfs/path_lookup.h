// path_lookup: a whole path in one round trip, where the protocol can (version 4's COMPOUND).
//
// The walk stays as it is, one name after the other; what it is about to ask for is put into the
// caches before it asks: dentries, inodes and access rights of every name on the way, and the
// negative dentry where the path ends early, as single lookups would have left them. What another
// request, or a change of our own, has overtaken meanwhile is left out, and the walk asks again.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_PATH_LOOKUP_H_
#define NFSWALK_NFSCLIENT_NFS_PATH_LOOKUP_H_

#include <cstddef>
#include <expected>
#include <string_view>
#include <system_error>

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

// True if whole paths are asked for on this mount: the protocol can, the mount option `compound`
// says so, and the caches may be believed for a while.
bool AsksForWholePaths(const Superblock& superblock);

// Asks for `path` (no leading slash, followed by kNamePadding readable bytes), which begins in
// `directory`, if the walk would otherwise have to ask twice. Returns how many of its bytes need
// not be looked at again: those of the names that were asked for, 0 if nothing was. Errors:
// timed_out and operation_canceled; all others are left for the walk to meet.
std::expected<size_t, std::errc> PrimePath(Superblock& superblock, vfs::DentryRef& directory,
                                           std::string_view path,
                                           const sunrpc_auth::CredentialRef& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_PATH_LOOKUP_H_
