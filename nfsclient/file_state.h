// file_state: what an open file holds on to: its inode, the server's open state, and who opened it.
#ifndef NFSWALK_NFSCLIENT_FILE_STATE_H_
#define NFSWALK_NFSCLIENT_FILE_STATE_H_

#include <cstdint>
#include <memory>

#include "nfsclient/client.h"
#include "nfsclient/nfs/silly_rename.h"
#include "nfsclient/nfs/superblock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk {

struct File::State {
  nfs::Superblock& superblock;
  const nfs::OpenInode inode;
  const std::unique_ptr<protocol::OpenState> open;
  const sunrpc_auth::CredentialRef credential;
  const uint32_t mode;  // kMayRead, kMayWrite
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_FILE_STATE_H_
