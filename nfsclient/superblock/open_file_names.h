// open_file_names: the present names of an open file, from the dentries.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_OPEN_FILE_NAMES_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_OPEN_FILE_NAMES_H_

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// Has the server's state of an open file, if there is any, follow the file's names (NAME-29). The
// dentry that it was opened by is kept for it, as that of nfs_open_context is: renames move it.
// Preconditions: `state` ends before the caller's reference on the inode. Throws std::bad_alloc.
void FollowNames(protocol::OpenState* state, Superblock& superblock, icache::Inode& inode,
                 const vfs::DentryRef& opened);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_OPEN_FILE_NAMES_H_
