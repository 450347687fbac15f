// permission: checks a credential's access to an inode by the server's ACCESS
// (docs/rules/access.md).
//
// Replies are cached per inode and credential, and valid while the inode's attributes are fresh, at
// most for an hour (ACCESS-6).
//
// RCU form: possible answers are granted, denied, or need-ref with kGetattrRpc or kAccessRpc. A
// cached denial is an answer; the walk confirms the directory's sequence before it reports EACCES.
// Reference form: errc{}, errc::permission_denied, or the error of an RPC.
#ifndef NFSWALK_NFSCLIENT_NFS_PERMISSION_H_
#define NFSWALK_NFSCLIENT_NFS_PERMISSION_H_

#include <cstdint>
#include <expected>
#include <optional>
#include <system_error>

#include "access_cache/access_rights.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/reason_of.h"
#include "nfsclient/superblock/superblock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

struct RcuPermission {
  ReasonOf<NeedRef::kGetattrRpc, NeedRef::kAccessRpc> need;
  bool granted = false;  // meaningful if need is kNone
};

// Searches beyond the newest entry, as the walk mode allows.
std::optional<uint32_t> SearchRights(WalkMode mode, icache::Inode& inode,
                                     const sunrpc_auth::CachedCredential* credential,
                                     access_cache::AccessAge age, AccessHits& hits);

// execute_ok: a file without an execute bit cannot be executed, whatever the server grants root
// (ACCESS-2).
bool MayBeExecuted(icache::Inode& file);

// Checks `may_mask` (kMay* of access(2)); 0 is always granted.
// Preconditions: RCU section; `credential` was looked up in it; `directory` is what the inode's
// type says, or true, to search it.
[[gnu::always_inline]] inline RcuPermission PermissionRcu(
    const Superblock& superblock, icache::Inode& inode, bool directory,
    const sunrpc_auth::CachedCredential* credential, uint32_t may_mask, uint64_t now_ns,
    AccessHits& hits) {
  if (!AttributesFresh(superblock, inode, now_ns)) return {NeedRef::kGetattrRpc};
  const access_cache::AccessAge age{
      now_ns, directory ? superblock.directory_rights_ns : superblock.file_rights_ns};
  const WalkMode mode = superblock.options.walk;
  std::optional<uint32_t> rights;
  if (mode != WalkMode::kRcuLocked) rights = inode.access.PeekRcu(credential, age);
  if (rights) [[likely]] {
    ++hits.peek;
  } else {
    rights = SearchRights(mode, inode, credential, age, hits);
    if (!rights) return {NeedRef::kAccessRpc};
  }
  bool granted = access_cache::Grants(*rights, may_mask, directory);
  if (!directory && granted && (may_mask & access_cache::kMayExec) != 0) {
    granted = MayBeExecuted(inode);
  }
  return {NeedRef::kNone, granted};
}

// Caches what the server granted to a request that was sent at `sent_at_ns`. `epoch`: sampled
// before the request, or that of the reply's ReplyContext.
void CacheAccess(Superblock& superblock, icache::Inode& inode,
                 const sunrpc_auth::CredentialRef& credential, uint32_t granted,
                 uint64_t sent_at_ns, uint64_t epoch);

// Returns what the server has granted: the answer of PermissionRef() without an RPC once the
// attributes are fresh. Preconditions: a reference.
std::optional<uint32_t> CachedAccess(const Superblock& superblock, icache::Inode& inode,
                                     const sunrpc_auth::CredentialRef& credential);

// `granted`: as the server's ACCESS replied. permission_denied if that does not allow `may_mask`.
std::errc CheckAccess(icache::Inode& inode, uint32_t granted, uint32_t may_mask);

// Asks the server, whatever is cached, and caches what it granted, with the reply's attributes,
// which a later one may have overtaken. `ask_attributes`: where the reply has none, they are asked
// for although they are fresh. Preconditions: a reference on the inode; may sleep.
std::expected<uint32_t, std::errc> AskAccess(Superblock& superblock, icache::Inode& inode,
                                             const sunrpc_auth::CredentialRef& credential,
                                             bool ask_attributes);

// Preconditions: a reference on the inode; may sleep.
std::errc PermissionRef(Superblock& superblock, icache::Inode& inode,
                        const sunrpc_auth::CredentialRef& credential, uint32_t may_mask);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_PERMISSION_H_
