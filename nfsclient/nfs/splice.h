// splice: inodes and dentries for what replies show (nfs_fhget(), d_splice_alias()).
//
// Thread safety: any. May sleep: no spin lock, no RCU section.
#ifndef NFSWALK_NFSCLIENT_NFS_SPLICE_H_
#define NFSWALK_NFSCLIENT_NFS_SPLICE_H_

#include <cstdint>
#include <expected>
#include <system_error>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/vfs/dentry_cache.h"

namespace nfswalk::nfs {

// nfs_fhget: the inode of a handle from a reply, with the reply's attributes taken in. `context` as
// in UpdateAttributes().
std::expected<icache::InodeRef, std::errc> FetchInode(Superblock& superblock,
                                                      const protocol::FileHandle& handle,
                                                      const protocol::Attributes& attributes,
                                                      SendStamp stamp,
                                                      ReplyContext* context = nullptr);

// Caches a name with its inode (empty: negative). A directory that has a dentry already is moved
// here and keeps its children (WALK-22).
// Preconditions: `directory` is locked, shared or exclusively.
std::expected<vfs::DentryRef, std::errc> SpliceChild(Superblock& superblock,
                                                     vfs::DentryRef& directory,
                                                     const vfs::Name& name, icache::InodeRef inode,
                                                     uint64_t verifier);

// d_drop of the name's dentry, if it has one.
void DropName(Superblock& superblock, vfs::DentryRef& directory, const vfs::Name& name);

// Replaces the name by a negative dentry. Preconditions: `directory` is locked exclusively.
void MakeNegative(Superblock& superblock, vfs::DentryRef& directory, const vfs::Name& name,
                  uint64_t verifier);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_SPLICE_H_
