// lookup: from a name in a directory to its dentry, by the cache or by the server.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_LOOKUP_H_
#define NFSWALK_NFSCLIENT_NFS_LOOKUP_H_

#include <expected>
#include <system_error>

#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// The child `name` of a directory, revalidated; a negative dentry if the server says ENOENT.
// Errors: filename_too_long (more than limits.name_bytes_max), not_enough_memory, and the server's.
std::expected<vfs::DentryRef, std::errc> LookupChild(Superblock& superblock,
                                                     vfs::DentryRef& directory,
                                                     const vfs::Name& name,
                                                     const sunrpc_auth::Credential& credential,
                                                     LookupIntent intent);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_LOOKUP_H_
