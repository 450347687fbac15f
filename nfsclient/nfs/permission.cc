#include "nfsclient/nfs/permission.h"

#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

namespace {

access_cache::AccessAge AgeOf(const Superblock& superblock, const icache::Inode& inode,
                              uint64_t now_ns) {
  return {now_ns,
          inode.is_directory() ? superblock.directory_rights_ns : superblock.file_rights_ns};
}

}  // namespace

bool MayBeExecuted(icache::Inode& file) {
  protocol::Attributes attributes;
  CopyAttributes(file, attributes);
  return (attributes.mode & 0111) != 0;
}

std::errc CheckAccess(icache::Inode& inode, uint32_t granted, uint32_t may_mask) {
  bool directory = inode.is_directory();
  if (!access_cache::Grants(granted, may_mask, directory)) return std::errc::permission_denied;
  if (!directory && (may_mask & access_cache::kMayExec) != 0 && !MayBeExecuted(inode)) {
    return std::errc::permission_denied;
  }
  return {};
}

std::optional<uint32_t> SearchRights(WalkMode mode, icache::Inode& inode,
                                     const sunrpc_auth::CachedCredential* credential,
                                     access_cache::AccessAge age, AccessHits& hits) {
  if (mode == WalkMode::kRcuSearch) {
    if (auto rights = inode.access.SearchRcu(credential, age)) {
      ++hits.search;
      return rights;
    }
  }
  // In kRcuSearch, too: the answer may be behind more entries than a lockless search looks at, or
  // be on its way from one place to another.
  auto rights = inode.access.SearchLocked(inode.access_lock, credential, age);
  if (rights) ++hits.locked;
  return rights;
}

void CacheAccess(Superblock& superblock, icache::Inode& inode,
                 const sunrpc_auth::CredentialRef& credential, uint32_t granted,
                 uint64_t sent_at_ns, uint64_t epoch) {
  DirectoryChange change(superblock, inode);  // replaces what was granted before
  inode.access.Insert(inode.access_lock, credential, granted, sent_at_ns, epoch,
                      superblock.access_lru);
}

std::optional<uint32_t> CachedAccess(const Superblock& superblock, icache::Inode& inode,
                                     const sunrpc_auth::CredentialRef& credential) {
  const auto age = AgeOf(superblock, inode, rcu::CoarseNowNs());
  return inode.access.SearchLocked(inode.access_lock, credential.get(), age);
}

std::expected<uint32_t, std::errc> AskAccess(Superblock& superblock, icache::Inode& inode,
                                             const sunrpc_auth::CredentialRef& credential,
                                             bool ask_attributes) {
  SendStamp stamp = Stamp(superblock);
  ReplyContext context{.epoch = inode.access.epoch()};  // unless the reply is the latest (ACCESS-8)
  auto reply = superblock.protocol->Access(inode.handle(), credential->key());
  NFSWALK_SYNC_POINT("access:after-rpc");
  if (reply.error == protocol::kStale) MarkStale(superblock, inode);
  if (reply.error != std::errc{}) return std::unexpected(reply.error);
  // Rights are valid only with fresh attributes, which also hold the execute bits.
  const auto error = reply.attributes
                         ? UpdateAttributes(superblock, inode, *reply.attributes, stamp, &context)
                         : RevalidateInode(superblock, inode, credential->key(), ask_attributes);
  if (error != std::errc{}) return std::unexpected(error);
  CacheAccess(superblock, inode, credential, reply.granted, stamp.sent_at_ns, context.epoch);
  return reply.granted;
}

std::errc PermissionRef(Superblock& superblock, icache::Inode& inode,
                        const sunrpc_auth::CredentialRef& credential, uint32_t may_mask) {
  if (may_mask == 0) return {};
  // With a cached entry a GETATTR may revalidate it; without one, ACCESS returns the attributes
  // too.
  for (bool asked = false;; asked = true) {
    uint64_t now = rcu::CoarseNowNs();
    // Before the search, as in PermissionRcu(): the update that refreshes the attributes may
    // invalidate the rights.
    const bool fresh = AttributesFresh(superblock, inode, now);
    NFSWALK_SYNC_POINT("permission:between-loads");
    auto rights = inode.access.SearchLocked(inode.access_lock, credential.get(),
                                            AgeOf(superblock, inode, now));
    if (!rights) break;
    if (fresh) {
      superblock.Count(kLockedHits);
      return CheckAccess(inode, *rights, may_mask);
    }
    if (asked) break;
    if (auto error = RevalidateInode(superblock, inode, credential->key()); error != std::errc{}) {
      return error;
    }
  }

  const auto granted = AskAccess(superblock, inode, credential, /*ask_attributes=*/false);
  return granted ? CheckAccess(inode, *granted, may_mask) : granted.error();
}

}  // namespace nfswalk::nfs
