// path_lookup: asks for a whole path in as few round trips as the server allows (version 4's
// COMPOUND).
//
// Ref-walk still goes name by name; this primes the caches ahead of it with dentries, inodes and
// access rights of every component, and the negative dentry where the path ends early, as single
// LOOKUPs would have. Results that another request or a change of our own has made stale meanwhile
// are left out, and the walk looks those names up.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_AHEAD_PATH_LOOKUP_H_
#define NFSWALK_NFSCLIENT_AHEAD_PATH_LOOKUP_H_

#include <cstddef>
#include <expected>
#include <string_view>
#include <system_error>

#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

// True if this mount resolves whole paths: the protocol can, the mount option `compound` is on, and
// the caches have a lifetime.
bool AsksForWholePaths(const Superblock& superblock);

// Asks for `path` (no leading slash, followed by kNamePadding readable bytes), which begins in
// `directory`, if the walk would otherwise need two requests. Returns the bytes of the path that
// were primed, 0 if none. Errors: timed_out and operation_canceled; the walk meets all others.
std::expected<size_t, std::errc> PrimePath(Superblock& superblock, vfs::DentryRef& directory,
                                           std::string_view path,
                                           const sunrpc_auth::CredentialRef& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_AHEAD_PATH_LOOKUP_H_
