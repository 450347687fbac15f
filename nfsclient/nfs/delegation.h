// delegation: files that are read while the server has delegated them: opens and attributes cost no
// call, and are never older than what the server has (docs/rules/delegations.md).
//
// Thread safety: any.
#ifndef NFSWALK_NFSCLIENT_NFS_DELEGATION_H_
#define NFSWALK_NFSCLIENT_NFS_DELEGATION_H_

#include <chrono>
#include <memory>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::nfs {

// Whether an OPEN for reading asks for a delegation. `inode` is opened.
protocol::AskDelegation AsksDelegation(const Superblock& superblock, const icache::Inode& inode);

// Makes the file a delegated one by what an OPEN was granted, unless that has ended.
// `context`: of the attributes of the same reply. `state`: is closed with the delegation, at the
// earliest. Preconditions: a reference on the inode. Throws std::bad_alloc.
void KeepDelegation(Superblock& superblock, icache::Inode& inode, const ReplyContext& context,
                    std::shared_ptr<protocol::OpenState> state,
                    std::unique_ptr<protocol::Delegation> delegation);

// Returns the inode's delegation, if it has one, before our own call that removes a name of it. May
// sleep.
void ReturnDelegation(Superblock& superblock, icache::Inode& inode);
// Returns all, at the end of the mount, as far as that is done within `limit`.
void ReturnAllDelegations(Superblock& superblock, std::chrono::milliseconds limit);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_DELEGATION_H_
