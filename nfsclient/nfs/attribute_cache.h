// attribute_cache: how long what the server said about a file is believed, and what follows when it
// says something else (docs/rules/attributes.md).
//
// Thread safety: the functions of the first group read only, from RCU sections or with a reference.
// The others take the inode's lock.
#ifndef NFSWALK_NFSCLIENT_NFS_ATTRIBUTE_CACHE_H_
#define NFSWALK_NFSCLIENT_NFS_ATTRIBUTE_CACHE_H_

#include <cstdint>
#include <system_error>

#include "nfsclient/icache/inode.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/protocol/attributes.h"

namespace nfswalk::nfs {

// When a request was sent, in time and in order; taken before the request goes out.
struct SendStamp {
  uint64_t sent_at_ns;
  uint64_t generation;
};
SendStamp Stamp(Superblock& superblock);

// What may be learned of an inode's names and rights from a reply, as long as nothing newer is
// known of it. Version 4 answers for a whole path at once, so that the cookies and epochs of most
// of its directories cannot be taken before the call is sent.
struct ReplyContext {
  uint64_t generation = 0;  // 0: something newer is known already
  uint64_t change_id = 0;   // the verifier of names that the reply tells of
  uint64_t epoch = 0;       // the epoch of rights that the reply tells of
};
// True while no reply to a later request, and no change of our own, has been taken in since.
bool IsLatest(icache::Inode& inode, const ReplyContext& context);

// --- reading ---

// True if the attributes have neither timed out nor been marked invalid. The interval is half open:
// a lifetime of 0 is always expired, as is a clock before its start (ATTR-1). Acquire:
// whoever sees that an update made the attributes fresh sees also what it found changed (the
// change_id, the epoch of the rights, kInvalidData), and the attributes.
inline bool AttributesFresh(const icache::Inode& inode, uint64_t now_ns) {
  const uint64_t read_at_ns =
      inode.read_at_ns.load(std::memory_order_acquire);  // pairs with StoreAttributes()
  const uint16_t invalid =
      inode.invalid.load(std::memory_order_acquire);  // pairs with StoreAttributes()
  const uint64_t age = now_ns - read_at_ns;           // wraps if `now` is before
  return age < inode.lifetime_ns.load(std::memory_order_relaxed) &&
         (invalid & icache::kInvalidChange) == 0;
}

// Copies attributes that all held at one instant; false if writers kept interfering (bounded: 8
// tries). Preconditions: RCU section or a reference.
bool CopyAttributesRcu(const icache::Inode& inode, protocol::Attributes& into);
void CopyAttributes(icache::Inode& inode, protocol::Attributes& into);

// --- writing ---

// Completes a new inode: others wait for its kNew.
ReplyContext InitializeAttributes(Superblock& superblock, icache::Inode& inode,
                                  const protocol::Attributes& attributes, SendStamp stamp);

// Takes in the attributes of a reply. errc{}, or kStale if they belong to another file (fileid or
// type differ): the inode is then forgotten. `context` (may be null) is filled in.
std::errc UpdateAttributes(Superblock& superblock, icache::Inode& inode,
                           const protocol::Attributes& attributes, SendStamp stamp,
                           ReplyContext* context = nullptr);

// The same after our own change: if the server's "before" is what we had, the difference is ours,
// and names and rights below a directory stay valid (ATTR-11). Absent data marks the
// attributes invalid. Returns the change_id as this reply left it, the verifier of names that the
// reply tells of: a later change_id would vouch for them though others have changed the directory
// since. `outcome`: that of the change; where the server refused it and, as version 4 does, sent
// nothing of the directory, nothing is in doubt.
uint64_t UpdateAfterOwnChange(Superblock& superblock, icache::Inode& inode,
                              const protocol::WeakCacheConsistency& wcc, SendStamp stamp,
                              std::errc outcome = {});

// The next use asks the server.
void InvalidateAttributes(Superblock& superblock, icache::Inode& inode);
// The same for every inode of the mount, and for the access rights.
void InvalidateAll(Superblock& superblock);

// Our own change took the last link that we know of, and the inode is no longer hashed: if another
// is left after all, it leads to an inode of its own, so no name may lead to this one any more.
void MarkUnlinked(Superblock& superblock, icache::Inode& inode);

// The server answered ESTALE (ATTR-8): a directory may come back, anything else is gone.
void MarkStale(Superblock& superblock, icache::Inode& inode);

// GETATTR if the attributes are not fresh, or if `force`. errc{} or the server's error.
std::errc Revalidate(Superblock& superblock, icache::Inode& inode,
                     const sunrpc_auth::Credential& credential, bool force = false);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_ATTRIBUTE_CACHE_H_
