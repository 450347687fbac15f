// revalidate: is this dentry valid (nfs_lookup_revalidate(); NAME-1).
//
// A dentry is valid while its verifier equals the parent's change id and the parent's attributes
// are fresh, whatever the child's own attributes.
//
// RCU form: possible answers are kNone (valid) and kLookupRpc (the verifier fails, the mount says
// lookupcache=none, or a negative one under lookupcache=pos). Never "invalid": that takes an RPC to
// know. Reference form: kValid, kInvalid (drop it and look the name up), or an error, which leaves
// the dentry as it is.
#ifndef NFSWALK_NFSCLIENT_NFS_REVALIDATE_H_
#define NFSWALK_NFSCLIENT_NFS_REVALIDATE_H_

#include <cstdint>
#include <expected>
#include <optional>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/reason_of.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

using RevalidateReason = ReasonOf<NeedRef::kLookupRpc>;

// `directory` is the parent's inode, `inode` the dentry's as copied in the caller's window
// (nullptr: negative). Preconditions: RCU section, in which PermissionRcu() has seen that the
// directory's attributes are fresh. A change since then has raised the change id, or is
// ordered after this walk.
inline RevalidateReason RevalidateRcu(LookupCache lookupcache, const vfs::Dentry& dentry,
                                      const icache::Inode* inode, const icache::Inode& directory) {
  if (lookupcache != LookupCache::kAll) [[unlikely]] {
    if (inode == nullptr || lookupcache == LookupCache::kNone) {
      return NeedRef::kLookupRpc;
    }
  }
  if (dentry.verifier.load(std::memory_order_relaxed) !=
      directory.change_id.load(std::memory_order_relaxed)) {
    return NeedRef::kLookupRpc;
  }
  if (inode != nullptr && inode->flags.load(std::memory_order_relaxed) != 0) {
    return NeedRef::kLookupRpc;  // stale or unlinked
  }
  return NeedRef::kNone;
}

// Whether a name is valid at this time. Preconditions: RCU section or references.
inline bool IsNameValid(const Superblock& superblock, const vfs::Dentry& dentry,
                        const icache::Inode* inode, const icache::Inode& directory,
                        uint64_t now_ns) {
  // First: what makes the attributes fresh has raised the change id, if the directory has changed.
  return AttributesFresh(superblock, directory, now_ns) &&
         RevalidateRcu(superblock.options.lookupcache, dentry, inode, directory) == NeedRef::kNone;
}
// For how long RevalidateRcu() trusts the dentry unless something newer is learned of the directory
// (NAME-1); 0: it does not. Preconditions: RCU section or references.
inline uint64_t NameLeftNs(const Superblock& superblock, const vfs::Dentry& dentry,
                           const icache::Inode* inode, const icache::Inode& directory,
                           uint64_t now_ns) {
  // First: what makes the attributes fresh has raised the change id, if the directory has changed.
  const uint64_t left_ns = AttributesLeftNs(superblock, directory, now_ns);
  const NeedRef need = RevalidateRcu(superblock.options.lookupcache, dentry, inode, directory);
  return need == NeedRef::kNone ? left_ns : 0;
}
// As above, for a dentry that was found as `name` of `parent`; 0 also if the name is another's by
// now: what this client renames or removes leaves the verifier as it is. Preconditions: references.
uint64_t NameLeftNs(Superblock& superblock, const vfs::DentryRef& parent, const vfs::Name& name,
                    const vfs::DentryRef& found, uint64_t now_ns);

enum class Verdict { kValid, kInvalid };

// The purpose of a lookup.
enum class LookupIntent : uint8_t {
  kWalk,
  // LOOKUP_OPEN of version 4: the OPEN that follows names the file and fails if the name has
  // changed, so that a regular file's dentry needs no validation (NAME-15).
  kOpenByName,
  // LOOKUP_CREATE: the CREATE that follows fails if the name exists, so that a negative dentry
  // needs no validation (NAME-8).
  kCreate,
  kForce,  // LOOKUP_REVAL: forced revalidation
};

// `name` is what the dentry was found under; its own name may change at any time. Preconditions:
// references on the dentry and its parent; may sleep.
std::expected<Verdict, std::errc> RevalidateRef(Superblock& superblock, vfs::DentryRef& dentry,
                                                const vfs::Name& name, icache::Inode& directory,
                                                const sunrpc_auth::Credential& credential,
                                                LookupIntent intent);

// Never the change id of a directory: the verifier of a name that must be looked up.
inline constexpr uint64_t kNoChangeId = 0;

// True if the dentry was last valid at the directory's current change id.
bool VerifierMatches(const vfs::Dentry& dentry, const icache::Inode& directory);

// Returns what the name leads to, before it is removed or renamed; nullopt of a name without a
// dentry and of a negative one. Preconditions: the directory is locked, or its name for a change.
std::optional<protocol::KnownObject> ObjectOf(const vfs::DentryRef& dentry,
                                              const icache::Inode& directory);

// Records that the dentry was valid when the directory's change_id was `change_id`, unless the
// directory has changed since (NAME-12).
void StoreVerifier(vfs::Dentry& dentry, const icache::Inode& directory, uint64_t change_id);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_REVALIDATE_H_
