// may_create_in_sticky: whether a call that creates may take the file that is there
// (may_create_in_sticky() of fs/namei.c, WALK-31): not one that another user has put into a
// directory that is sticky and writable for all, unless that directory is his.
#ifndef NFSWALK_NFSCLIENT_NFS_MAY_CREATE_IN_STICKY_H_
#define NFSWALK_NFSCLIENT_NFS_MAY_CREATE_IN_STICKY_H_

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::nfs {

// How to create a file of the name where one that exists may be the result. Where it matters whose
// that is, the server says whether it exists: in no version does UNCHECKED tell a file of another
// user that has just come from one that it has made.
protocol::CreateMode CreateModeIn(const Superblock& superblock, const icache::Inode& directory);

// `directory` null: the file is the root of the export. Preconditions: a reference to the file; the
// attributes of both were fresh in the call.
bool MayCreateInSticky(const Superblock& superblock, const vfs::DentryRef& directory,
                       icache::Inode& file, const sunrpc_auth::Credential& creator);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_MAY_CREATE_IN_STICKY_H_
