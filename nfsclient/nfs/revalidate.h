// revalidate: may this dentry still be believed (NAME-1).
//
// A name is believed while its verifier equals the parent's change_id and the parent's attributes
// are fresh. The child's own attributes do not matter for that.
//
// RCU form: possible answers are kNone (valid) and kLookupRpc (the verifier fails, the mount says
// lookupcache=none, or a negative one under lookupcache=pos). Never "invalid": that takes an RPC to
// know. Reference form: kValid, kInvalid (drop it and look the name up), or an error that leaves
// the dentry alone.
#ifndef NFSWALK_NFSCLIENT_NFS_REVALIDATE_H_
#define NFSWALK_NFSCLIENT_NFS_REVALIDATE_H_

#include <cstdint>
#include <expected>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/reason_of.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

using RevalidateReason = ReasonOf<NeedRef::kLookupRpc>;

// `directory` is the parent's inode, `inode` the dentry's as copied in the caller's window
// (nullptr: negative). Preconditions: RCU section, in which PermissionRcu() has seen that the
// directory's attributes are fresh. A change noted since then raised the change_id, or is one that
// this walk came before.
inline RevalidateReason RevalidateRcu(const Superblock& superblock, const vfs::Dentry& dentry,
                                      const icache::Inode* inode, const icache::Inode& directory) {
  if (superblock.options.lookupcache != LookupCache::kAll) [[unlikely]] {
    if (inode == nullptr || superblock.options.lookupcache == LookupCache::kNone) {
      return NeedRef::kLookupRpc;
    }
  }
  if (dentry.verifier.load(std::memory_order_relaxed) !=
      directory.change_id.load(std::memory_order_relaxed)) {
    return NeedRef::kLookupRpc;
  }
  if (inode != nullptr && inode->flags.load(std::memory_order_relaxed) != 0) {
    return NeedRef::kLookupRpc;  // stale, or its last link is gone
  }
  return NeedRef::kNone;
}

enum class Verdict { kValid, kInvalid };

// What the name is wanted for.
enum class LookupIntent : uint8_t {
  kWalk,
  // LOOKUP_OPEN of version 4: the server will be asked to open the file by this name, and says so
  // if the name leads elsewhere by now. The directory is not evaluated for a regular file
  // (NAME-15).
  kOpenByName,
  kForce,  // LOOKUP_REVAL, the third pass: ask the server whatever the caches say
};

// `name` is what the dentry was found under; its own name may change at any time. Preconditions:
// references on the dentry and its parent; may sleep.
std::expected<Verdict, std::errc> RevalidateRef(Superblock& superblock, vfs::DentryRef& dentry,
                                                const vfs::Name& name, icache::Inode& directory,
                                                const sunrpc_auth::Credential& credential,
                                                LookupIntent intent);

// True if the name was last known right when the directory was as we know it now.
bool VerifierMatches(const vfs::Dentry& dentry, const icache::Inode& directory);

// Notes that the name was right when the directory's change_id was `change_id`, unless the
// directory has changed since (NAME-12).
void StoreVerifier(vfs::Dentry& dentry, const icache::Inode& directory, uint64_t change_id);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_REVALIDATE_H_
