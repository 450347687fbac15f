// silly_rename: what becomes of the name of a file that is removed while it is open here
// (nfs_sillyrename(), NAME-31): the server has no open files to keep it for, in version 3 at all,
// in version 4.0 not across a restart.
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_SILLY_RENAME_H_
#define NFSWALK_NFSCLIENT_NFS_SILLY_RENAME_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <string_view>
#include <system_error>

#include "nfsclient/superblock/open_inodes.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// True if the inode is open here and the name to be removed is its last one, which the server is
// asked for where others were known.
bool NeedsSillyRename(Superblock& superblock, const OpenInodes::Removal& removal,
                      icache::Inode& inode, const sunrpc_auth::Credential& credential);

enum class HiddenFor : uint8_t {
  kRemoval,      // the absence of the name is cached
  kReplacement,  // lookups of the name wait for the directory
};

// Renames the last name of the inode to one that no call shows. On an error whose outcome is known
// nothing has changed. Preconditions: the directory is locked exclusively, then a Removal of the
// inode.
std::expected<OpenInodes::SillyNames::iterator, std::errc> SillyRename(
    Superblock& superblock, vfs::DentryRef& directory, const vfs::Name& name, icache::Inode& inode,
    HiddenFor what, const sunrpc_auth::Credential& credential);

// Gives it its name back, where what it made room for was refused, unless another client has taken
// that. Best effort: where it fails otherwise, the file stays under the hidden name. Preconditions: as of
// SillyRename().
void UndoSillyRename(Superblock& superblock, vfs::DentryRef& directory, const vfs::Name& name,
                     OpenInodes::SillyNames::iterator silly);

// Removes the hidden names of an inode that is not open any more. Preconditions: no directory lock,
// no Removal.
void RemoveSillyNames(Superblock& superblock, icache::Inode& inode);

// Removes the hidden names in a directory of the inodes that are not open any more, before the
// directory itself is removed: their closes do it, too, but have no caller that waits.
// Preconditions: no directory lock, no Removal.
void RemoveSillyNamesIn(Superblock& superblock, const icache::Inode& directory);

// Removes those of all inodes, open or not, as far as the server answers within `limit`; the rest
// stays on the server.
void RemoveAllSillyNames(Superblock& superblock, std::chrono::milliseconds limit);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_SILLY_RENAME_H_
