// xattr: extended attributes of a file (xattr(7), RFC 8276). They are not cached: each call asks
// the server, but of a file system that has said that it has none.
//
// Names are those of xattr(7): "user.mime_type". NFS has no other namespace than the user's, whose
// prefix is not sent; "system.nfs4_acl" is the ACL of version 4 (nfs4/acl.h), as it is of the
// kernel's client: it is set whatever XattrMode says, and cannot be removed (invalid_argument).
// "system.posix_acl_access" and "system.posix_acl_default" are those of version 3
// (protocol/posix_acl.h); there are none where they say no more than the mode.
// Errors: as Protocol's; of a name: result_out_of_range (ERANGE) for none and
// for more than 255 bytes, operation_not_supported for one of another namespace, invalid_argument
// for "user." and for a NUL.
//
// Preconditions of all: a reference; may sleep. Throw std::bad_alloc.
#ifndef NFSWALK_NFSCLIENT_NFS_XATTR_H_
#define NFSWALK_NFSCLIENT_NFS_XATTR_H_

#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/superblock.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::nfs {

std::expected<std::string, std::errc> GetXattr(Superblock& superblock, icache::Inode& inode,
                                               std::string_view name,
                                               const sunrpc_auth::Credential& credential);
std::expected<std::vector<std::string>, std::errc> ListXattrs(
    Superblock& superblock, icache::Inode& inode, const sunrpc_auth::Credential& credential);
// Preconditions: nothing that was written to the file waits to be sent (data/set_attributes.h).
// Errors also: argument_list_too_long (E2BIG) for more than 64 KiB, or than the session takes;
// invalid_argument for an unknown `how`.
std::errc SetXattr(Superblock& superblock, icache::Inode& inode, std::string_view name,
                   std::string_view value, protocol::XattrMode how,
                   const sunrpc_auth::Credential& credential);
std::errc RemoveXattr(Superblock& superblock, icache::Inode& inode, std::string_view name,
                      const sunrpc_auth::Credential& credential);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_XATTR_H_
