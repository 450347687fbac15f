#include "nfsclient/nfs/lookup.h"

#include <utility>

#include "nfsclient/nfs/nfs_inode.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using icache::InodeRef;
using sunrpc_auth::Credential;
using vfs::DentryRef;
using vfs::Name;

namespace {

// Installs the LOOKUP's result. Replaces a dentry that a listing or a whole-path lookup installed
// meanwhile from an older reply: the caller gets the result of its own request.
std::expected<DentryRef, std::errc> SpliceAnswer(Superblock& superblock, DentryRef& directory,
                                                 const Name& name, const InodeRef& inode,
                                                 uint64_t change_id) {
  for (;;) {
    InodeRef told = inode ? icache::Hold(*inode) : InodeRef();
    auto child = SpliceChild(superblock, directory, name, std::move(told), change_id);
    if (!child || child->inode() == inode.get()) return child;
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
    reply.attributes = attributes.attributes;
  }
  auto inode = FetchInode(superblock, reply.handle, *reply.attributes, stamp);
  if (!inode) return std::unexpected(inode.error());
  parent.lookup_misses.Add();
  return SpliceAnswer(superblock, directory, name, *inode, change_id);
}

// Returns the cached dentry if it is valid; empty if there is none.
std::expected<DentryRef, std::errc> LookupCached(Superblock& superblock, DentryRef& directory,
                                                 const Name& name, const Credential& credential,
                                                 LookupIntent intent) {
  DentryRef found = superblock.dentries.Lookup(*directory, name);
  if (!found) return found;
  auto verdict = RevalidateRef(superblock, found, name, *directory.inode(), credential, intent);
  if (!verdict) return std::unexpected(verdict.error());
  if (*verdict == Verdict::kValid) return found;
  superblock.dentries.Drop(*found);
  return DentryRef();
}

}  // namespace

std::expected<InodeRef, std::errc> FetchInode(Superblock& superblock,
                                              const protocol::FileHandle& handle,
                                              const protocol::Attributes& attributes,
                                              SendStamp stamp, ReplyContext* context) {
  FileIdentity identity(handle, attributes.fileid, attributes.type,
                        superblock.inode_operations.bytes());
  icache::InodeCache& inodes = *superblock.inodes;
  icache::IgetResult found = inodes.Fetch(attributes.fileid, identity);
  // The only possible error: nothing here is created by file id alone (I_CREATING).
  if (!found) return std::unexpected(std::errc::not_enough_memory);
  if (found->is_new) {
    const ReplyContext now = InitializeAttributes(superblock, *found->inode, attributes, stamp);
    if (context != nullptr) *context = now;
    inodes.UnlockNew(*found->inode);
  } else {
    auto error = UpdateAttributes(superblock, *found->inode, attributes, stamp, context);
    if (error != std::errc{}) return std::unexpected(error);
  }
  return std::move(found->inode);
}

std::expected<DentryRef, std::errc> SpliceChild(Superblock& superblock, DentryRef& directory,
                                                const Name& name, InodeRef inode,
                                                uint64_t verifier) {
  vfs::DentryCache& dentries = superblock.dentries;
  const bool is_directory = inode && inode->is_directory();
  for (;;) {
    if (DentryRef alias = is_directory ? dentries.AliasOf(*inode) : DentryRef()) {
      // The directory was moved on the server, or its dentry was dropped here (d_splice_alias).
      auto error = dentries.Move(*alias, *directory, name, verifier);
      if (error != std::errc{}) return std::unexpected(error);
      return alias;
    }
    NFSWALK_SYNC_POINT("splice:no-alias");
    InodeRef given = is_directory ? icache::Hold(*inode) : std::move(inode);
    if (DentryRef dentry = dentries.Insert(*directory, name, std::move(given), verifier)) {
      superblock.KeepInodeLimit();
      return dentry;
    }
    // No memory, unless another thread has just given the directory a dentry.
    if (!is_directory || inode->alias.load(std::memory_order_relaxed) == nullptr) {
      return std::unexpected(std::errc::not_enough_memory);
    }
  }
}

std::expected<DentryRef, std::errc> LookupChild(Superblock& superblock, DentryRef& directory,
                                                const Name& name, const Credential& credential,
                                                LookupIntent intent) {
  if (name.length > vfs::kNameMax || name.length > superblock.limits.name_bytes_max) {
    return std::unexpected(std::errc::filename_too_long);
  }
  for (;;) {
    auto cached = LookupCached(superblock, directory, name, credential, intent);
    if (!cached || *cached) return cached;
    auto ticket = superblock.lookups.Begin(directory.inode()->handle(), name.view());
    if (!ticket) return std::unexpected(ticket.error());
    if (!ticket->owned()) continue;  // another thread filled it
    auto lock = superblock.directory_locks.LockShared(*directory.inode());
    if (!lock) return std::unexpected(std::errc::timed_out);
    // Again: another thread may have finished its lookup before this one began.
    if (DentryRef found = superblock.dentries.Lookup(*directory, name)) {
      if (intent != LookupIntent::kForce && VerifierMatches(*found, *directory.inode()) &&
          superblock.options.lookupcache == LookupCache::kAll) {
        return found;
      }
      superblock.dentries.Drop(*found);
    }
    return AskServer(superblock, directory, name, credential);
  }
}

}  // namespace nfswalk::nfs
