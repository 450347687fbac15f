// lookup: from a name in a directory to its dentry, by the cache or by the server.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_LOOKUP_H_
#define NFSWALK_NFSCLIENT_NFS_LOOKUP_H_

#include <expected>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// The child `name` of a directory, revalidated; a negative dentry if the server says ENOENT.
// Errors: filename_too_long (more than limits.name_bytes_max), not_enough_memory, and the server's.
std::expected<vfs::DentryRef, std::errc> LookupChild(Superblock& superblock,
                                                     vfs::DentryRef& directory,
                                                     const vfs::Name& name,
                                                     const sunrpc_auth::Credential& credential,
                                                     LookupIntent intent);

// The inode of a handle that the server just gave us, with its attributes taken in. `context` as
// UpdateAttributes() has it.
std::expected<icache::InodeRef, std::errc> FetchInode(Superblock& superblock,
                                                      const protocol::FileHandle& handle,
                                                      const protocol::Attributes& attributes,
                                                      SendStamp stamp,
                                                      ReplyContext* context = nullptr);

// Puts a name with its inode (empty: negative) into the cache. A directory that is known under
// another name is moved here, so that it keeps its children (WALK-22).
// Preconditions: `directory` is locked, shared or exclusively.
std::expected<vfs::DentryRef, std::errc> SpliceChild(Superblock& superblock,
                                                     vfs::DentryRef& directory,
                                                     const vfs::Name& name, icache::InodeRef inode,
                                                     uint64_t verifier);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_LOOKUP_H_
