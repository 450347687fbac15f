#include "nfsclient/nfs/splice.h"

#include <utility>

#include "nfsclient/superblock/nfs_inode.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::InodeRef;
using vfs::DentryRef;
using vfs::Name;

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

namespace {

// A directory is about to leave this name for the one that a reply shows it under.
void NoteOldName(Superblock& superblock, vfs::Dentry& directory) {
  if (!superblock.invalidations.listening()) return;
  const auto [parent, name] = superblock.dentries.NameOf(directory);
  superblock.invalidations.Post(InvalidReason::kName, *parent.inode(), name);
}

}  // namespace

std::expected<DentryRef, std::errc> SpliceChild(Superblock& superblock, DentryRef& directory,
                                                const Name& name, InodeRef inode,
                                                uint64_t verifier) {
  vfs::DentryCache& dentries = superblock.dentries;
  const bool is_directory = inode && inode->is_directory();
  for (;;) {
    if (DentryRef alias = is_directory ? dentries.AliasOf(*inode) : DentryRef()) {
      // The directory was moved on the server, or its dentry was dropped here (d_splice_alias).
      NoteOldName(superblock, *alias);
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

void DropName(Superblock& superblock, DentryRef& directory, const Name& name) {
  if (DentryRef known = superblock.dentries.Lookup(*directory, name)) {
    superblock.dentries.Drop(*known);
  }
}

void MakeNegative(Superblock& superblock, DentryRef& directory, const Name& name,
                  uint64_t verifier) {
  DropName(superblock, directory, name);
  (void)SpliceChild(superblock, directory, name, {}, verifier);
}

}  // namespace nfswalk::nfs
