// attribute_cache: how long cached attributes of a file are valid, and what a reply that differs
// from them invalidates (docs/rules/attributes.md).
//
// Thread safety: the functions under `reading` only read, in an RCU section or with a reference.
// The others take the inode's lock.
#ifndef NFSWALK_NFSCLIENT_NFS_ATTRIBUTE_CACHE_H_
#define NFSWALK_NFSCLIENT_NFS_ATTRIBUTE_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/types.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::nfs {

// When a request was sent: the time, and its place in the order of requests and changes. Taken
// before the request is sent.
struct SendStamp {
  uint64_t sent_at_ns;
  uint64_t generation;
};
SendStamp Stamp(Superblock& superblock);

// The state of an inode that a reply's names and access rights belong to, valid until something
// newer is taken in. For ACCESS (ACCESS-8), OPEN, and version 4's whole-path lookups, whose
// directories' change ids and epochs cannot be sampled before the request is sent.
struct ReplyContext {
  uint64_t generation = 0;  // 0: the reply was older than the inode
  uint64_t change_id = 0;   // the verifier of the reply's names
  uint64_t epoch = 0;       // the epoch of the reply's access rights
  bool had_expired = false;  // attributes that are as the reply has them
};
// True while no reply to a later request and no change of our own has been taken in.
bool IsLatest(icache::Inode& inode, const ReplyContext& context);

// --- reading ---

inline uint64_t LifetimeNs(const icache::Inode& inode) {
  return inode.lifetime_s.load(std::memory_order_relaxed) * uint64_t{1'000'000'000};
}

// The bits of Inode::cache_validity that make attributes invalid.
inline constexpr uint8_t kInvalidAttributes = icache::kInvalidChange | icache::kInvalidDirty;

// Whether the server has delegated a file or a directory: its attributes are valid then, unless
// they are marked invalid (DELEG-1).
inline bool IsDelegated(const Superblock& superblock, uint8_t validity, uint64_t now_ns) {
  return (validity & icache::kDelegated) != 0 &&
         now_ns < superblock.protocol->delegations_until_ns();
}
inline bool IsDelegated(const Superblock& superblock, const icache::Inode& inode, uint64_t now_ns) {
  return IsDelegated(superblock,
                     inode.cache_validity.load(std::memory_order_acquire),  // pairs with End-
                     now_ns);                                               // Delegation()
}

// How old attributes may become by a delegation, as rights (ACCESS-6): a server calls for no
// directory that is itself renamed or removed.
inline constexpr uint64_t kDelegatedNs = 3'600'000'000'000;

// For how long, from `read_at_ns` on, attributes that were asked for then are fresh unless they are
// marked invalid. A delegation that ends marks them.
inline uint64_t ValidNs(const Superblock& superblock, const icache::Inode& inode,
                        uint64_t read_at_ns) {
  const uint64_t lifetime_ns = LifetimeNs(inode);
  const bool is_delegated =
      (inode.cache_validity.load(std::memory_order_acquire) & icache::kDelegated) !=
      0;  // pairs with BeginDelegation(), EndDelegation()
  if (!is_delegated) return lifetime_ns;
  const uint64_t until_ns = superblock.protocol->delegations_until_ns();
  const uint64_t delegated_ns = until_ns > read_at_ns ? until_ns - read_at_ns : 0;
  return std::max(lifetime_ns, std::min(delegated_ns, kDelegatedNs));
}

// True if the attributes have neither timed out, unless the file is delegated, nor been marked
// invalid by one of `bits`, of which kInvalidDirty may be left out: they are the server's then. The
// interval is half open: a lifetime of 0 is always expired, and so is a clock before its start
// (ATTR-1). Acquire: a reader that sees an update make the attributes fresh sees what the update
// changed: attributes, change id, access epoch, kInvalidData.
inline bool AttributesFresh(const Superblock& superblock, const icache::Inode& inode,
                            uint64_t now_ns, uint8_t bits = kInvalidAttributes) {
  const uint64_t read_at_ns =
      inode.read_at_ns.load(std::memory_order_acquire);  // pairs with StoreAttributes()
  const uint8_t validity =
      inode.cache_validity.load(std::memory_order_acquire);  // pairs with StoreAttributes()
  const uint64_t age = now_ns - read_at_ns;           // wraps if `now` is before
  if ((validity & bits) != 0) return false;
  if (age < LifetimeNs(inode)) [[likely]]
    return true;
  return now_ns < read_at_ns + kDelegatedNs && IsDelegated(superblock, validity, now_ns);
}

// True if Inode::cache_validity has one of `bits`. Acquire: a reader that sees a bit sees what it
// was set for.
inline bool HasValidityBits(const icache::Inode& inode, uint8_t bits) {
  return (inode.cache_validity.load(std::memory_order_acquire) & bits) !=
         0;  // pairs with SetValidityBits()
}

// For how long they stay fresh unless something newer is learned; 0: they are not, or may be told
// to be wrong at any moment, as they may be once a delegation is all that keeps them.
inline uint64_t AttributesLeftNs(const Superblock& superblock, const icache::Inode& inode,
                                 uint64_t now_ns) {
  if (!AttributesFresh(superblock, inode, now_ns)) return 0;
  const uint64_t age =
      now_ns - inode.read_at_ns.load(std::memory_order_acquire);  // pairs with StoreAttributes()
  const uint64_t lifetime = LifetimeNs(inode);
  return age < lifetime ? lifetime - age : 0;  // either may have changed since
}

// Copies a consistent set of attributes; false if writers interfered 8 times. Preconditions: RCU
// section or a reference.
bool CopyAttributesRcu(const icache::Inode& inode, protocol::Attributes& into);
// Copies attributes if they are fresh at the moment of the copy (WALK-14): a change that is made
// meanwhile marks them invalid before it touches them. Returns kNone, kGetattrRpc or kChanged.
NeedRef CopyFreshAttributesRcu(const Superblock& superblock, const icache::Inode& inode,
                               uint64_t now_ns, protocol::Attributes& into,
                               uint8_t bits = kInvalidAttributes);
void CopyAttributes(icache::Inode& inode, protocol::Attributes& into);

// True if two sets of attributes of one file show that its content has changed. Compares times and
// size as well: version 3 has no change attribute.
bool ContentChanged(const protocol::Attributes& a, const protocol::Attributes& b);

// --- writing ---

// Fills in a new inode, whose other finders wait for kNew.
ReplyContext InitializeAttributes(Superblock& superblock, icache::Inode& inode,
                                  const protocol::Attributes& attributes, SendStamp stamp);

// nfs_update_inode: takes in the attributes of a reply. kStale if they belong to another file
// (fileid or type differ): the inode is then stale for good. `context` (may be null) is filled in.
// `own_end_bytes`: of what was written here and that the server may lose, where no change of the
// size by this client was in flight; nullopt: not known.
std::errc UpdateAttributes(Superblock& superblock, icache::Inode& inode,
                           const protocol::Attributes& attributes, SendStamp stamp,
                           ReplyContext* context = nullptr,
                           std::optional<uint64_t> own_end_bytes = std::nullopt);

// UpdateAttributes() after a change of our own: if the server's "before" matches the cache, the
// difference is ours, and the directory's other names and access rights stay valid (ATTR-11).
// Without data in the reply the attributes are invalid. Returns the change id as this reply left
// it, the verifier for the names in the reply: a later change id would validate names that others
// have changed since.
// `outcome`: the change's errno; a refusal without data (version 4) invalidates nothing.
uint64_t UpdateAfterOwnChange(Superblock& superblock, icache::Inode& inode,
                              const protocol::WeakCacheConsistency& wcc, SendStamp stamp,
                              std::errc outcome = {});

// Whose changes the replies to a batch of our own WRITEs show.
enum class ChangedBy {
  kUs,
  kUsOrOthers,  // not known
  kOthers,
};

// UpdateAttributes() after a batch of our own WRITEs (data/own_changes.h). `latest`: the attributes
// as of the last of them; nullopt: not known, and invalid from now on. `since`: when the calls were
// sent that showed them; replies to later requests are not taken back. `own_end_bytes`: the end of
// what was written here and that the server may lose, or did not get. Clears the bits `cleared` of
// Inode::cache_validity at last.
void UpdateAfterOwnWrites(Superblock& superblock, icache::Inode& inode, ChangedBy changed_by,
                          const protocol::OptionalAttributes& latest, SendStamp since,
                          uint64_t own_end_bytes, uint8_t cleared);

// i_size of a regular file, which is kept with its attributes, so that all who read them see what
// was written here (ATTR-19). These two, InitializeAttributes() and replies taken in are all that
// change it.
//
// By a write, before it returns: at least `end_bytes`. Preconditions: the inode's i_rwsem.
void GrowSize(icache::Inode& inode, uint64_t end_bytes);
// By a truncation that the server has made, or where the end is known. Does nothing where the
// attributes are valid: a reply has shown the end, this one or a later one. Preconditions: as above,
// and nothing that was written here and that the server may lose is beyond it.
void CutSize(icache::Inode& inode, uint64_t size_bytes);

// The change attribute that the caches hold; nullopt where their attributes are invalid.
std::optional<uint64_t> KnownChangeAttribute(icache::Inode& inode);

// Whether UpdateAfterOwnChange() would find the difference to be ours, or the reply has no wcc
// data.
bool FollowsKnown(icache::Inode& inode, const protocol::WeakCacheConsistency& wcc);

// False if the change may or may not have been made.
inline bool IsKnown(std::errc outcome) {
  return outcome != std::errc::timed_out && outcome != std::errc::operation_canceled &&
         outcome != std::errc::io_error;
}

// Maps the error of a call that looks at a change which was made: never to an error that means "not
// made", nor to ESTALE, which would make the change again.
inline std::errc OutcomeUnknown(std::errc error) {
  const bool says_so = error == std::errc::timed_out || error == std::errc::operation_canceled;
  return says_so ? error : std::errc::io_error;
}

// Returns whether this was called before without a change by another client noticed since; of a
// directory, by this one, either.
bool NoteDataInUse(icache::Inode& inode);

// True if the attributes are valid as of a request that was sent after `stamp` was taken. False
// where that is not known: a change of our own, or one by others that a reply has shown, gives them
// the generation of the reply, whenever the request was sent (ATTR-10).
bool IsNewerThan(icache::Inode& inode, SendStamp stamp);

// Sets or clears bits of Inode::cache_validity.
void SetValidityBits(icache::Inode& inode, uint8_t bits, bool on);

// Makes the inode a delegated one. `context`: of the reply that it was granted by; what other
// replies have shown since must be asked for again (DELEG-1).
void BeginDelegation(Superblock& superblock, icache::Inode& inode, const ReplyContext& context);
// These two: a delegation that rests, and goes on. What is known stays so.
void RestDelegation(Superblock& superblock, icache::Inode& inode);
void GoOnDelegation(icache::Inode& inode);
// Ends it: the next use of the attributes sends a GETATTR. Before the server is told.
void EndDelegation(Superblock& superblock, icache::Inode& inode);

// Makes the next use send a GETATTR.
void InvalidateAttributes(Superblock& superblock, icache::Inode& inode);
// Invalidates the attributes of every inode of the mount, and the access rights.
void InvalidateAll(Superblock& superblock);

// nfs_drop_nlink: our own change removed a name that led to the inode as far as is known here. An
// inode of which one link was known counts as unlinked, and goes with its last reference, until
// a reply shows a link. It stays in the table: its file may live under names that others have given
// it, and must not get a second inode beside one that is referenced (INODE-27).
void DropLink(Superblock& superblock, icache::Inode& inode);

// The server answered ESTALE (ATTR-8): a directory may come back, anything else is gone.
void MarkStale(Superblock& superblock, icache::Inode& inode);

// GETATTR if the attributes are not fresh, or if `force`. errc{} or the server's error.
std::errc RevalidateInode(Superblock& superblock, icache::Inode& inode,
                          const sunrpc_auth::Credential& credential, bool force = false);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_ATTRIBUTE_CACHE_H_
