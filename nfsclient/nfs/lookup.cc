#include "nfsclient/nfs/lookup.h"

#include <new>
#include <utility>

#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/splice.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using icache::InodeRef;
using sunrpc_auth::Credential;
using vfs::DentryRef;
using vfs::Name;

namespace {

// Installs the LOOKUP's result. Replaces a dentry that a listing or a whole-path lookup installed
// meanwhile: the caller gets the result of its own request, which is not valid for the next one if
// the other was (NAME-12).
std::expected<DentryRef, std::errc> SpliceAnswer(Superblock& superblock, DentryRef& directory,
                                                 const Name& name, const InodeRef& inode,
                                                 uint64_t change_id) {
  for (;;) {
    InodeRef told = inode ? icache::Hold(*inode) : InodeRef();
    auto child = SpliceChild(superblock, directory, name, std::move(told), change_id);
    if (!child || child->inode() == inode.get()) return child;
    if (VerifierMatches(**child, *directory.inode())) change_id = kNoChangeId;
    superblock.dentries.Drop(**child);
  }
}

// Sends the LOOKUP. Preconditions: the directory is locked.
std::expected<DentryRef, std::errc> AskServer(Superblock& superblock, DentryRef& directory,
                                              const Name& name, const Credential& credential) {
  Inode& parent = *directory.inode();
  SendStamp stamp = Stamp(superblock);
  // Sampled before the RPC: a change that races with it makes the new dentry's verifier stale at
  // birth.
  uint64_t change_id = parent.change_id.load(std::memory_order_relaxed);
  auto reply = superblock.protocol->Lookup(parent.handle(), name.view(), credential);
  NFSWALK_SYNC_POINT("lookup:after-rpc");
  if (reply.directory) UpdateAttributes(superblock, parent, *reply.directory, stamp);
  if (reply.error == std::errc::no_such_file_or_directory) {
    return SpliceAnswer(superblock, directory, name, {}, change_id);
  }
  if (reply.error == protocol::kStale) MarkStale(superblock, parent);
  if (reply.error != std::errc{}) return std::unexpected(reply.error);
  if (!reply.attributes) {
    auto attributes = superblock.protocol->GetAttributes(reply.handle, credential);
    if (attributes.error != std::errc{}) return std::unexpected(attributes.error);
    protocol::TakeAttributes(attributes.attributes, reply);
  }
  auto inode = FetchInode(superblock, reply.handle, *reply.attributes, stamp);
  if (!inode) return std::unexpected(inode.error());
  parent.lookup_misses.Add();
  return SpliceAnswer(superblock, directory, name, *inode, change_id);
}

// A name that this client hides does not exist, whatever the server says (NAME-31). Preconditions:
// the directory is locked.
std::expected<DentryRef, std::errc> SpliceHidden(Superblock& superblock, DentryRef& directory,
                                                 const Name& name) {
  const uint64_t change_id = directory.inode()->change_id.load(std::memory_order_relaxed);
  return SpliceAnswer(superblock, directory, name, {}, change_id);
}

// Returns the cached dentry if it is valid; empty if there is none. `*was_absent`: a negative one
// was dropped.
std::expected<DentryRef, std::errc> LookupCached(Superblock& superblock, DentryRef& directory,
                                                 const Name& name, const Credential& credential,
                                                 LookupIntent intent, bool* was_absent) {
  DentryRef found = superblock.dentries.Lookup(*directory, name);
  if (!found) return found;
  auto verdict = RevalidateRef(superblock, found, name, *directory.inode(), credential, intent);
  if (!verdict) return std::unexpected(verdict.error());
  if (*verdict == Verdict::kValid) return found;
  superblock.dentries.Drop(*found);
  if (found.inode() == nullptr) {
    *was_absent = true;
  } else {
    superblock.invalidations.Post(InvalidReason::kName, *directory.inode(), name.view());
  }
  return DentryRef();
}

}  // namespace

std::expected<DentryRef, std::errc> LookupChild(Superblock& superblock, DentryRef& directory,
                                                const Name& name, const Credential& credential,
                                                LookupIntent intent) {
  if (name.length > vfs::kNameMax || name.length > superblock.limits.name_bytes_max) {
    return std::unexpected(std::errc::filename_too_long);
  }
  bool was_absent = false;
  for (;;) {
    auto cached = LookupCached(superblock, directory, name, credential, intent, &was_absent);
    if (!cached || *cached) return cached;
    NFSWALK_SYNC_POINT("lookup:missed");
    const auto listed = superblock.lookups.WaitForListing(directory.inode()->handle());
    if (!listed) return std::unexpected(listed.error());
    if (*listed) continue;
    auto ticket = superblock.lookups.Begin(directory.inode()->handle(), name.view());
    if (!ticket) return std::unexpected(ticket.error());
    if (!ticket->owned()) continue;  // another thread filled it
    auto lock = superblock.inode_locks.LockShared(*directory.inode());
    if (!lock) return std::unexpected(protocol::CallDeadline::Error());
    // Again: another thread may have finished its lookup before this one began.
    if (DentryRef found = superblock.dentries.Lookup(*directory, name)) {
      const bool is_valid =
          IsNameValid(superblock, *found, found.inode(), *directory.inode(), rcu::CoarseNowNs());
      if (intent != LookupIntent::kForce && is_valid) return found;
      superblock.dentries.Drop(*found);
    }
    auto answer = superblock.open_inodes.IsHidden(*directory.inode(), name.view())
                      ? SpliceHidden(superblock, directory, name)
                      : AskServer(superblock, directory, name, credential);
    if (was_absent && answer && answer->inode() != nullptr) {
      superblock.invalidations.Post(InvalidReason::kName, *directory.inode(), name.view());
    }
    return answer;
  }
}

void RevalidateNode(Superblock& superblock, const DentryRef& node,
                    const sunrpc_auth::CredentialRef& credential) try {
  const icache::Inode& inode = *node.inode();
  const uint64_t now_ns = rcu::CoarseNowNs();
  const bool is_named = node.get() != superblock.root.get() && node->hash.load() != 0;
  if (!is_named || inode.flags.load() != 0 || AttributesFresh(superblock, inode, now_ns)) return;
  auto [directory, text] = superblock.dentries.NameOf(*node);
  icache::Inode& parent = *directory.inode();
  if (VerifierMatches(*node, parent) || !AttributesFresh(superblock, parent, now_ns)) return;
  const auto granted = CachedAccess(superblock, parent, credential);
  if (!granted || CheckAccess(parent, *granted, access_cache::kMayExec) != protocol::kOk) return;
  // A change may hold it as long as the server does not answer, which a stat must not wait for.
  if (!superblock.inode_locks.TryLockShared(parent)) return;
  const vfs::PaddedName name(text, directory.get());
  if (superblock.dentries.Lookup(*directory, name.name()).get() != node.get()) return;
  bool was_absent = false;
  (void)LookupCached(superblock, directory, name.name(), credential->key(), LookupIntent::kWalk,
                     &was_absent);
} catch (const std::bad_alloc&) {
}

}  // namespace nfswalk::nfs
