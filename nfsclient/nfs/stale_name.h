// stale_name: what an answer of the server says about the name it was asked by, where that is not
// what the caches say (NAME-34).
//
// Thread safety: any.
#ifndef NFSWALK_NFSCLIENT_NFS_STALE_NAME_H_
#define NFSWALK_NFSCLIENT_NFS_STALE_NAME_H_

#include <system_error>

#include "nfsclient/icache/inode.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// Whether the error of a call by a name contradicts that the name leads to `known`; nullptr: that
// it does not exist. True also of ESTALE, whichever handle it is about.
bool ContradictsName(std::errc error, const icache::Inode* known);

// d_drop() of the name's dentry, and tells listeners, which may cache the name where this client
// does not. The next lookup asks the server.
void ExpireName(Superblock& superblock, const vfs::DentryRef& directory, const vfs::Name& name);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_STALE_NAME_H_
