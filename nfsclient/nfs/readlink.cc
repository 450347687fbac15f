#include "nfsclient/nfs/readlink.h"

#include <mutex>

#include "rcu/coarse_clock.h"
#include "rcu/read_guard.h"

namespace nfswalk::nfs {

namespace {

// Publishes the text of a reply, unless attributes of a later request were taken in meanwhile,
// which may have invalidated it: then only if the cached attributes, those of the reply and those
// `before` the request show the same link. Without memory the text is not cached.
void InstallLinkText(Superblock& superblock, icache::Inode& link,
                     const protocol::ReadLinkReply& reply, SendStamp stamp,
                     const protocol::Attributes& before) {
  rcu::ByteString* body = superblock.inode_operations.bytes().Allocate(reply.target);
  if (body == nullptr) return;
  rcu::ByteString* unused = body;
  {
    std::lock_guard guard(link.lock);
    protocol::Attributes now;
    link.LoadAttributes(now);
    if (static_cast<int64_t>(stamp.generation - link.attribute_generation) >= 0 ||
        (reply.attributes && !ContentChanged(before, *reply.attributes) &&
         !ContentChanged(now, *reply.attributes))) {
      unused = link.link_body.load(std::memory_order_relaxed);
      link.link_body.store(body, std::memory_order_release);  // pairs with ReadLinkRcu()
      link.cache_validity.store(
          link.cache_validity.load(std::memory_order_relaxed) & ~icache::kInvalidData,
          std::memory_order_release);  // pairs with ReadLinkRcu(): after the text
    }
  }
  if (unused != nullptr) superblock.inode_operations.bytes().FreeDeferred(unused);
}

}  // namespace

std::expected<std::string, std::errc> ReadLinkRef(Superblock& superblock, icache::Inode& link,
                                                  const sunrpc_auth::Credential& credential) {
  if (link.type.load(std::memory_order_relaxed) != protocol::FileType::kSymlink) {
    return std::unexpected(std::errc::invalid_argument);
  }
  // First: attributes that changed invalidate the cached text.
  if (auto error = RevalidateInode(superblock, link, credential); error != std::errc{}) {
    return std::unexpected(error);
  }
  {
    rcu::ReadGuard guard;
    RcuLink cached = ReadLinkRcu(superblock, link, rcu::CoarseNowNs());
    if (cached.need == NeedRef::kNone) return std::string(cached.text);
  }
  protocol::Attributes before;
  CopyAttributes(link, before);
  SendStamp stamp = Stamp(superblock);
  auto reply = superblock.protocol->ReadLink(link.handle(), credential);
  if (reply.error == protocol::kStale) MarkStale(superblock, link);
  if (reply.error != std::errc{}) return std::unexpected(reply.error);
  if (reply.attributes) UpdateAttributes(superblock, link, *reply.attributes, stamp);
  InstallLinkText(superblock, link, reply, stamp, before);
  return std::move(reply.target);
}

}  // namespace nfswalk::nfs
