// prime: caches a name from a reply to a request for something else (READDIRPLUS, whole paths).
//
// Thread safety: any. May sleep.
#ifndef NFSWALK_NFSCLIENT_NFS_PRIME_H_
#define NFSWALK_NFSCLIENT_NFS_PRIME_H_

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// Returns the child, or empty on an error: priming is best effort. `change_id`: the directory's,
// from when the reply was true of it. `context`: as in UpdateAttributes(), the child's.
// Preconditions: `directory` is locked, shared or exclusively; `name` is fit for a dentry.
vfs::DentryRef PrimeName(Superblock& superblock, vfs::DentryRef& directory, const vfs::Name& name,
                         const protocol::FileHandle& handle, const protocol::Attributes& attributes,
                         SendStamp stamp, uint64_t change_id, ReplyContext* context = nullptr);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_PRIME_H_
