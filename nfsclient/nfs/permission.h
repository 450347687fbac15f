// permission: may this credential do that with this inode, as the server sees it (nfs_semantics 3).
//
// The server decides (ACCESS); we remember its answers per inode and credential, and believe them while
// the inode's attributes are fresh, at most ac{dir,reg}max.
//
// RCU form: possible answers are granted, denied, or need-ref with kGetattrRpc, kAccessRpc or kRefMode. A
// cached denial is an answer; the walk confirms the directory's sequence before it reports EACCES.
// Reference form: errc{}, errc::permission_denied, or the error of an RPC.
#ifndef NFSWALK_NFSCLIENT_NFS_PERMISSION_H_
#define NFSWALK_NFSCLIENT_NFS_PERMISSION_H_

#include <cstdint>
#include <optional>
#include <system_error>

#include "access_cache/access_rights.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/superblock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

struct RcuPermission {
  NeedRef need = NeedRef::kNone;
  bool granted = false;  // meaningful if need is kNone
};

inline access_cache::AccessAge AgeOf(const Superblock& superblock, const vfs::Inode& inode,
                                     uint64_t now_ns) {
  bool directory = inode.type.load(std::memory_order_relaxed) == protocol::FileType::kDirectory;
  return {now_ns, directory ? superblock.acdirmax_ns : superblock.acregmax_ns};
}

// Asks for `may_mask` (kMay* of access(2)); 0 is always granted.
// Preconditions: RCU section; `credential` was looked up in it.
inline RcuPermission PermissionRcu(Superblock& superblock, vfs::Inode& inode,
                                   const sunrpc_auth::CachedCredential* credential,
                                   uint32_t may_mask, uint64_t now_ns) {
  if (!AttributesFresh(inode, now_ns)) return {NeedRef::kGetattrRpc};
  auto age = AgeOf(superblock, inode, now_ns);
  std::optional<uint32_t> rights;
  const WalkMode mode = superblock.options.walk;
  if (mode == WalkMode::kRcuLocked) {
    rights = inode.access.SearchLocked(credential, age);
    if (rights) superblock.Count(kLockedHits);
  } else if ((rights = inode.access.PeekRcu(credential, age))) {
    superblock.Count(kPeekHits);
  } else if (mode == WalkMode::kRcuPeek) {
    rights = inode.access.SearchLocked(credential, age);
    if (rights) superblock.Count(kLockedHits);
  } else {
    rights = inode.access.SearchRcu(credential, age);
    if (rights) superblock.Count(kSearchHits);
  }
  if (!rights) return {NeedRef::kAccessRpc};
  bool directory = inode.type.load(std::memory_order_relaxed) == protocol::FileType::kDirectory;
  return {NeedRef::kNone, access_cache::Grants(*rights, may_mask, directory)};
}

// Preconditions: a reference on the inode; may sleep.
std::errc PermissionRef(Superblock& superblock, vfs::Inode& inode,
                        const sunrpc_auth::CredentialRef& credential, uint32_t may_mask);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_PERMISSION_H_
