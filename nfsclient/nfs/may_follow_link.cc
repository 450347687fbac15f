#include "nfsclient/nfs/may_follow_link.h"

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/types.h"

namespace nfswalk::nfs {

namespace {

// AUTH_NONE is no user, so that no file is its own.
bool IsOwnOrOf(const protocol::Attributes& directory, const protocol::Attributes& file,
               const sunrpc_auth::Credential& user) {
  const bool is_own = user.flavor() == sunrpc_auth::Flavor::kSys && file.uid == user.uid();
  return is_own || file.uid == directory.uid;
}

}  // namespace

RcuFollow MayFollowProtectedLinkRcu(const icache::Inode& directory, const icache::Inode& link,
                                    const sunrpc_auth::Credential& follower) {
  protocol::Attributes of_directory, of_link;
  if (!CopyAttributesRcu(directory, of_directory) || !CopyAttributesRcu(link, of_link)) {
    return {NeedRef::kChanged};
  }
  return {NeedRef::kNone, IsOwnOrOf(of_directory, of_link, follower)};
}

bool IsOwnOrOfDirectory(icache::Inode& directory, icache::Inode& file,
                        const sunrpc_auth::Credential& user) {
  protocol::Attributes of_directory, of_file;
  CopyAttributes(directory, of_directory);
  CopyAttributes(file, of_file);
  return IsOwnOrOf(of_directory, of_file, user);
}

bool MayFollowLink(const Superblock& superblock, icache::Inode& directory, icache::Inode& link,
                   const sunrpc_auth::Credential& follower) {
  return !ProtectsLinks(superblock, directory) || IsOwnOrOfDirectory(directory, link, follower);
}

}  // namespace nfswalk::nfs
