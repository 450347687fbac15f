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

// Looks the name of a node up where it and the attributes are both to be asked for when they are
// next used: one call for both (NAME-39). Does nothing where either is known, where the directory
// is to be asked for first, may not be searched as far as is known, or is being changed. What the
// LOOKUP does not tell, an error too, is left to who needs it.
void RevalidateNode(Superblock& superblock, const vfs::DentryRef& node,
                    const sunrpc_auth::CredentialRef& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_LOOKUP_H_
