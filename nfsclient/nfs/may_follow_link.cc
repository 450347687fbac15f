#include "nfsclient/nfs/may_follow_link.h"

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/types.h"

namespace nfswalk::nfs {

namespace {

// AUTH_NONE is no user, so that no link is its own.
bool MayFollow(const protocol::Attributes& directory, const protocol::Attributes& link,
               const sunrpc_auth::Credential& follower) {
  const bool is_own =
      follower.flavor() == sunrpc_auth::Flavor::kSys && link.uid == follower.uid();
  return is_own || link.uid == directory.uid;
}

}  // namespace

RcuFollow MayFollowProtectedLinkRcu(const icache::Inode& directory, const icache::Inode& link,
                                    const sunrpc_auth::Credential& follower) {
  protocol::Attributes of_directory, of_link;
  if (!CopyAttributesRcu(directory, of_directory) || !CopyAttributesRcu(link, of_link)) {
    return {NeedRef::kChanged};
  }
  return {NeedRef::kNone, MayFollow(of_directory, of_link, follower)};
}

bool MayFollowLink(const Superblock& superblock, icache::Inode& directory, icache::Inode& link,
                   const sunrpc_auth::Credential& follower) {
  if (!ProtectsLinks(superblock, directory)) return true;
  protocol::Attributes of_directory, of_link;
  CopyAttributes(directory, of_directory);
  CopyAttributes(link, of_link);
  return MayFollow(of_directory, of_link, follower);
}

}  // namespace nfswalk::nfs
