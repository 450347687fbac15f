#include "nfsclient/nfs/revalidate.h"

#include <algorithm>
#include <cstdint>

#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using vfs::Dentry;
using vfs::DentryRef;

namespace {

// As acregmin by default, the shortest that a mount trusts anything for, if it trusts any.
constexpr uint64_t kLatelyNs = 3'000'000'000;

// nfs_check_verifier. Compares first: a mismatch costs no RPC. An error of the GETATTR counts as a
// mismatch; the LOOKUP that follows is authoritative.
bool CheckVerifier(Superblock& superblock, const Dentry& dentry, Inode& directory,
                   const sunrpc_auth::Credential& credential) {
  if (superblock.options.lookupcache == LookupCache::kNone) return false;
  if (!VerifierMatches(dentry, directory)) return false;
  if (!AttributesFresh(superblock, directory, rcu::CoarseNowNs())) {
    if (RevalidateInode(superblock, directory, credential) != std::errc{}) return false;
  }
  return VerifierMatches(dentry, directory);  // the GETATTR may have raised the change_id
}

// Sends a LOOKUP: does the name still lead to the same file?
std::expected<Verdict, std::errc> RevalidateByLookup(Superblock& superblock, DentryRef& dentry,
                                                     const vfs::Name& name, Inode& directory,
                                                     const sunrpc_auth::Credential& credential) {
  Inode& inode = *dentry.inode();
  auto lock = superblock.inode_locks.LockShared(directory);
  if (!lock) return std::unexpected(protocol::CallDeadline::Error());
  if (dentry->hash.load(std::memory_order_relaxed) != name.hash) return Verdict::kInvalid;
  SendStamp stamp = Stamp(superblock);
  uint64_t change_id = directory.change_id.load(std::memory_order_relaxed);
  auto reply = superblock.protocol->Lookup(directory.handle(), name.view(), credential);
  NFSWALK_SYNC_POINT("revalidate:after-lookup");
  if (reply.directory) UpdateAttributes(superblock, directory, *reply.directory, stamp);
  if (reply.error == protocol::kStale || reply.error == std::errc::no_such_file_or_directory) {
    return Verdict::kInvalid;
  }
  if (reply.error != std::errc{}) return std::unexpected(reply.error);
  if (!inode.HasHandle(reply.handle)) return Verdict::kInvalid;
  if (reply.attributes) {
    if (UpdateAttributes(superblock, inode, *reply.attributes, stamp) != std::errc{}) {
      return Verdict::kInvalid;
    }
  }
  StoreVerifier(*dentry, directory, change_id);
  return Verdict::kValid;
}

}  // namespace

uint64_t NameLeftNs(Superblock& superblock, const DentryRef& parent, const vfs::Name& name,
                    const DentryRef& found, uint64_t now_ns) {
  const uint64_t left_ns = NameLeftNs(superblock, *found, found.inode(), *parent.inode(), now_ns);
  NFSWALK_SYNC_POINT("revalidate:name-left");
  if (left_ns == 0) return 0;
  return superblock.dentries.Lookup(*parent, name).get() == found.get() ? left_ns : 0;
}

bool VerifierMatches(const Dentry& dentry, const Inode& directory) {
  return dentry.verifier.load(std::memory_order_relaxed) ==
         directory.change_id.load(std::memory_order_relaxed);
}

std::optional<protocol::KnownObject> ObjectOf(const DentryRef& dentry, const Inode& directory) {
  if (!dentry || dentry.inode() == nullptr) return std::nullopt;
  Inode& inode = *dentry.inode();
  protocol::Attributes attributes;
  CopyAttributes(inode, attributes);
  // Not what the mount answers from: with noac the walk to the directory has just asked for it.
  const uint64_t age_ns = rcu::CoarseNowNs() - directory.read_at_ns.load(std::memory_order_relaxed);
  const bool is_valid = dentry->hash.load() != 0 && VerifierMatches(*dentry, directory) &&
                        inode.flags.load(std::memory_order_relaxed) == 0 &&
                        !HasValidityBits(directory, icache::kInvalidChange) &&
                        age_ns < std::max(LifetimeNs(directory), kLatelyNs);
  return protocol::KnownObject{.handle = inode.handle(),
                               .nlink = inode.is_directory() ? 1 : attributes.nlink,
                               .is_valid = is_valid};
}

void StoreVerifier(Dentry& dentry, const Inode& directory, uint64_t change_id) {
  if (directory.change_id.load(std::memory_order_relaxed) == change_id) {
    dentry.verifier.store(change_id, std::memory_order_relaxed);
  }
}

std::expected<Verdict, std::errc> RevalidateRef(Superblock& superblock, DentryRef& dentry,
                                                const vfs::Name& name, Inode& directory,
                                                const sunrpc_auth::Credential& credential,
                                                LookupIntent intent) {
  const bool force = intent == LookupIntent::kForce;
  Inode* inode = dentry.inode();
  if (inode == nullptr) {
    // A negative dentry is valid or dropped, never looked up (NAME-7).
    const bool trusted = intent == LookupIntent::kCreate ||
                         (!force && superblock.options.lookupcache == LookupCache::kAll &&
                          CheckVerifier(superblock, *dentry, directory, credential));
    return trusted ? Verdict::kValid : Verdict::kInvalid;
  }
  uint8_t flags = inode->flags.load(std::memory_order_relaxed);
  if ((flags & icache::kStale) != 0) return Verdict::kInvalid;
  if (intent == LookupIntent::kOpenByName &&
      inode->type.load(std::memory_order_relaxed) == protocol::FileType::kRegular) {
    return Verdict::kValid;
  }
  if (!force && CheckVerifier(superblock, *dentry, directory, credential)) {
    if ((flags & icache::kUnlinked) == 0) return Verdict::kValid;
    // A valid name of an unlinked file: the directory's attributes are out of date.
    InvalidateAttributes(superblock, directory);
    return Verdict::kInvalid;
  }
  return RevalidateByLookup(superblock, dentry, name, directory, credential);
}

}  // namespace nfswalk::nfs
