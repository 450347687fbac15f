// open_context: an open file, as it and the data that was written with it hold it
// (nfs_open_context): the last reference closes it on the server.
//
// Thread safety: constant.
#ifndef NFSWALK_NFSCLIENT_NFS_OPEN_CONTEXT_H_
#define NFSWALK_NFSCLIENT_NFS_OPEN_CONTEXT_H_

#include <memory>

#include "nfsclient/nfs/open_inode.h"
#include "nfsclient/protocol/protocol.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

struct OpenContext {
  OpenInode inode;  // first: a hidden name is removed after CLOSE
  std::shared_ptr<protocol::OpenState> open;  // of others, too, where the file is delegated
  sunrpc_auth::CredentialRef credential;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_OPEN_CONTEXT_H_
