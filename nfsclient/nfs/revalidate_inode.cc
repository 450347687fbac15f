// RevalidateInode() of attribute_cache.h: asks the server for the attributes of an inode.
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;

namespace {

// GETATTR, which asks for a delegation where that is due.
protocol::DelegateReply Ask(Superblock& superblock, const Inode& inode,
                            const sunrpc_auth::Credential& credential) {
  if (AsksForDirectory(superblock, inode)) {
    return superblock.protocol->Delegate(inode.handle(), credential);
  }
  const auto reply = superblock.protocol->GetAttributes(inode.handle(), credential);
  return {reply.error, reply.attributes};
}

}  // namespace

std::errc RevalidateInode(Superblock& superblock, Inode& inode,
                          const sunrpc_auth::Credential& credential, bool force) {
  if ((inode.flags.load(std::memory_order_relaxed) & icache::kStale) != 0) return protocol::kStale;
  const auto is_fresh = [&] { return AttributesFresh(superblock, inode, rcu::CoarseNowNs()); };
  if (!force && is_fresh()) return {};
  WakeDelegation(superblock, inode);
  if (!force && is_fresh()) return {};
  // A change of our own between request and reply makes the reply older than the inode: ask again.
  constexpr int kTries = 16;
  for (int tries = 0;; ++tries) {
    SendStamp stamp = Stamp(superblock);
    auto reply = Ask(superblock, inode, credential);
    NFSWALK_SYNC_POINT("revalidate:after-getattr");
    if (reply.error == protocol::kStale) MarkStale(superblock, inode);
    if (reply.error != std::errc{}) return reply.error;
    ReplyContext context;
    auto error = UpdateAttributes(superblock, inode, reply.attributes, stamp, &context);
    if (error == protocol::kStale) GiveUpDelegation(superblock, inode);
    if (error == std::errc{} && reply.delegation != nullptr) {
      KeepDelegation(superblock, inode, context, nullptr, std::move(reply.delegation));
    }
    const bool outdated =
        context.generation == 0 &&
        (inode.cache_validity.load(std::memory_order_acquire) &  // pairs with StoreAttributes()
         icache::kInvalidChange) != 0;
    if (error != std::errc{} || !outdated || tries == kTries) return error;
  }
}

}  // namespace nfswalk::nfs
