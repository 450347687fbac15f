// change: our own changes to a directory or a file, and what they do to the caches
// (ATTR-11, NAME-18).
//
// Each call locks the directories concerned, sends one RPC and takes in its weak cache consistency
// data, so that the other names of a directory that only we changed stay valid without an RPC.
//
// Thread safety: any. May sleep. Errors: the server's; filename_too_long; not_enough_memory for the
// reply's caching is not an error (the name is looked up when next used). After timed_out,
// operation_canceled or io_error the change may have been made; after any other it was not.
#ifndef NFSWALK_NFSCLIENT_NFS_CHANGE_H_
#define NFSWALK_NFSCLIENT_NFS_CHANGE_H_

#include <expected>
#include <memory>
#include <string_view>
#include <system_error>

#include "nfsclient/nfs/open_inode.h"
#include "nfsclient/superblock/superblock.h"
#include "sunrpc_auth/credential_cache.h"

namespace nfswalk::nfs {

using protocol::Attributes;
using sunrpc_auth::Credential;

// file_exists if the name exists; with kUnchecked the file that has it is the result.
std::expected<Attributes, std::errc> CreateFile(Superblock& superblock, vfs::DentryRef& directory,
                                                std::string_view name, protocol::CreateMode how,
                                                uint32_t mode, const Credential& credential);
// A file made or found under the name, and open.
struct CreatedFile {
  Attributes attributes;
  OpenInode inode;
  std::unique_ptr<protocol::OpenState> state;
};
// kGuarded: file_exists if the name exists, by the verifier of EXCLUSIVE (RFC 1813 3.3.8) or
// EXCLUSIVE4 (RFC 7530 16.16), then SETATTR of the mode, or EXCLUSIVE4_1 with it;
// kGuardedWithAttributes by GUARDED with the mode. kUnchecked: file_exists if the name is not a
// regular file's, or, in version 3, the file found does not look new; version 4 opens what is there
// in the same OPEN.
std::expected<CreatedFile, std::errc> CreateOpenFile(Superblock& superblock,
                                                     vfs::DentryRef& directory,
                                                     std::string_view name,
                                                     protocol::CreateMode how, uint32_t mode,
                                                     bool read, bool write,
                                                     const Credential& credential);
std::expected<Attributes, std::errc> MakeDirectory(Superblock& superblock,
                                                   vfs::DentryRef& directory, std::string_view name,
                                                   uint32_t mode, const Credential& credential);
std::expected<Attributes, std::errc> MakeSymlink(Superblock& superblock, vfs::DentryRef& directory,
                                                 std::string_view name, std::string_view target,
                                                 const Credential& credential);
std::expected<Attributes, std::errc> MakeNode(Superblock& superblock, vfs::DentryRef& directory,
                                              std::string_view name, protocol::FileType type,
                                              uint32_t mode, protocol::Device device,
                                              const Credential& credential);
std::errc MakeLink(Superblock& superblock, icache::Inode& file, vfs::DentryRef& directory,
                   std::string_view name, const Credential& credential);

std::errc RemoveFile(Superblock& superblock, vfs::DentryRef& directory, std::string_view name,
                     const Credential& credential);
std::errc RemoveDirectory(Superblock& superblock, vfs::DentryRef& directory, std::string_view name,
                          const Credential& credential);
// `directories_only`: not_a_directory, and nothing is sent, unless `from_name` is a directory, as a
// trailing slash of either path asks for (WALK-11).
std::errc Rename(Superblock& superblock, vfs::DentryRef& from_directory, std::string_view from_name,
                 vfs::DentryRef& to_directory, std::string_view to_name, bool directories_only,
                 const Credential& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_CHANGE_H_
