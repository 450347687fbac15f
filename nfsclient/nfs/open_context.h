// open_context: how a file was opened (nfs_open_context).
//
// Thread safety: constant.
#ifndef NFSWALK_NFSCLIENT_NFS_OPEN_CONTEXT_H_
#define NFSWALK_NFSCLIENT_NFS_OPEN_CONTEXT_H_

#include <memory>

#include "nfsclient/nfs/open_inode.h"
#include "nfsclient/protocol/protocol.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

// Lives as long as the open file, and as data that was written with it.
struct OpenContext {
  OpenInode inode;  // first: a hidden name is removed after CLOSE
  std::shared_ptr<protocol::OpenState> open;  // of others, too, where the file is delegated
  sunrpc_auth::CredentialRef credential;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_OPEN_CONTEXT_H_
