// readlink: the text of a symbolic link, cached until the link's attributes say that it changed
// (ATTR-15).
#ifndef NFSWALK_NFSCLIENT_NFS_READLINK_H_
#define NFSWALK_NFSCLIENT_NFS_READLINK_H_

#include <expected>
#include <string>
#include <string_view>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/reason_of.h"
#include "nfsclient/superblock/superblock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

struct RcuLink {
  ReasonOf<NeedRef::kGetattrRpc, NeedRef::kReadlinkRpc> need;
  std::string_view text;  // NUL terminated, padded to whole words; valid in this RCU section
};

// Possible answers: the text, or need-ref with kGetattrRpc or kReadlinkRpc. Preconditions: RCU
// section.
inline RcuLink ReadLinkRcu(const Superblock& superblock, const icache::Inode& link,
                           uint64_t now_ns) {
  if (!AttributesFresh(superblock, link, now_ns)) return {NeedRef::kGetattrRpc, {}};
  // Read before the text: InstallLinkText() clears the bit after it published the text, so that a
  // reader of a clear bit sees that text or a later one.
  const uint16_t validity =
      link.cache_validity.load(std::memory_order_acquire);  // pairs with InstallLinkText()
  NFSWALK_SYNC_POINT("readlink-rcu:between-loads");
  const rcu::ByteString* body =
      link.link_body.load(std::memory_order_acquire);  // pairs with InstallLinkText()
  if (body == nullptr || (validity & icache::kInvalidData) != 0) return {NeedRef::kReadlinkRpc, {}};
  return {NeedRef::kNone, {body->data(), body->size}};
}

// invalid_argument if the inode is no link, else the server's errors. Preconditions: a reference;
// may sleep.
std::expected<std::string, std::errc> ReadLinkRef(Superblock& superblock, icache::Inode& link,
                                                  const sunrpc_auth::Credential& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_READLINK_H_
