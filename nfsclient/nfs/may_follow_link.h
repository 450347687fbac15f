// may_follow_link: whether a walk may follow a symbolic link as the last component of its path
// (may_follow_link() of fs/namei.c, WALK-30): not one that another user has put into a directory
// that is sticky and writable for all, unless that directory is his.
//
// RCU form: possible answers are granted, denied, or need-ref with kChanged. Reference form: the
// same answer from the same attributes.
#ifndef NFSWALK_NFSCLIENT_NFS_MAY_FOLLOW_LINK_H_
#define NFSWALK_NFSCLIENT_NFS_MAY_FOLLOW_LINK_H_

#include <cstdint>

#include "nfsclient/icache/inode.h"
#include "nfsclient/superblock/reason_of.h"
#include "nfsclient/superblock/superblock.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::nfs {

struct RcuFollow {
  ReasonOf<NeedRef::kChanged> need;
  bool granted = false;  // meaningful if need is kNone
};

// One word, so that a reader needs no window.
inline bool IsStickyAndWritableForAll(const icache::Inode& directory) {
  constexpr uint32_t kSticky = 01000, kOthersMayWrite = 0002;
  return (~directory.attributes.mode() & (kSticky | kOthersMayWrite)) == 0;
}

// Whether the file is the user's, or of the directory's owner. Preconditions: as MayFollowLink().
bool IsOwnOrOfDirectory(icache::Inode& directory, icache::Inode& file,
                        const sunrpc_auth::Credential& user);

// Whether who may follow a link in the directory depends on the link.
inline bool ProtectsLinks(const Superblock& superblock, const icache::Inode& directory) {
  return superblock.options.protected_symlinks && IsStickyAndWritableForAll(directory);
}

// The slow path of MayFollowLinkRcu().
RcuFollow MayFollowProtectedLinkRcu(const icache::Inode& directory, const icache::Inode& link,
                                    const sunrpc_auth::Credential& follower);

// Preconditions: RCU section; the attributes of both were fresh in it.
inline RcuFollow MayFollowLinkRcu(const Superblock& superblock, const icache::Inode& directory,
                                  const icache::Inode& link,
                                  const sunrpc_auth::Credential& follower) {
  if (!ProtectsLinks(superblock, directory)) [[likely]]
    return {NeedRef::kNone, true};
  return MayFollowProtectedLinkRcu(directory, link, follower);
}

// Preconditions: references; the attributes of both were fresh in the call.
bool MayFollowLink(const Superblock& superblock, icache::Inode& directory, icache::Inode& link,
                   const sunrpc_auth::Credential& follower);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_MAY_FOLLOW_LINK_H_
