// delegation: files that are read, and directories, while the server has delegated them: opens,
// attributes and the names in a directory cost no call, and are what the server has, as far as it
// calls (docs/rules/delegations.md).
//
// Thread safety: any.
#ifndef NFSWALK_NFSCLIENT_NFS_DELEGATION_H_
#define NFSWALK_NFSCLIENT_NFS_DELEGATION_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

// Whether an OPEN for reading asks for a delegation. `inode` is opened.
protocol::AskDelegation AsksDelegation(const Superblock& superblock, const icache::Inode& inode);

// Whether a GETATTR asks for one of a directory, which was not asked for lately: true once for each
// call that does.
bool AsksForDirectory(Superblock& superblock, const icache::Inode& inode);
// Directories for which one is due: those that a reply has shown to be used again, and unchanged
// since their attributes had expired. They are asked for in the background when this is destroyed:
// the replies that are taken in until then are of the directories as they were.
//
// Thread safety: none.
class DueDelegations {
 public:
  // Limit; what is beyond it is due with the next reply.
  static constexpr size_t kMax = 64;

  DueDelegations(Superblock& superblock, const sunrpc_auth::CredentialRef& credential)
      : superblock_(superblock), credential_(credential) {}
  ~DueDelegations();
  DueDelegations(const DueDelegations&) = delete;
  DueDelegations& operator=(const DueDelegations&) = delete;
  // `context`: of the reply.
  void Note(icache::Inode& inode, const ReplyContext& context);

 private:
  Superblock& superblock_;
  const sunrpc_auth::CredentialRef& credential_;
  std::vector<icache::InodeRef> directories_;
};
// A directory's delegation rests where nothing is known to have been answered from it for a while:
// the next ref-walk that would ask for the directory's attributes has it go on.
void WakeDelegation(Superblock& superblock, icache::Inode& inode);

// Makes the file or directory a delegated one by what was granted, unless that has ended.
// `context`: of the attributes of the same reply. `state`: of a file, is closed with the
// delegation, at the earliest. Preconditions: a reference on the inode. Throws std::bad_alloc.
void KeepDelegation(Superblock& superblock, icache::Inode& inode, const ReplyContext& context,
                    std::shared_ptr<protocol::OpenState> state,
                    std::unique_ptr<protocol::Delegation> delegation);

// Returns the inode's delegation, if it has one, before our own call that removes a name of it, or
// a directory. May sleep.
void ReturnDelegation(Superblock& superblock, icache::Inode& inode);
// Ends it, and has another thread return it: the file or directory is not there any more.
void GiveUpDelegation(Superblock& superblock, icache::Inode& inode);
// Returns all, at the end of the mount, and keeps none from then on, as far as that is done within
// `limit`.
void ReturnAllDelegations(Superblock& superblock, std::chrono::milliseconds limit);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_DELEGATION_H_
