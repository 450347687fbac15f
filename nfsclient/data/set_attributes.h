// set_attributes: changes of attributes, the size among them (nfs_setattr()).
//
// Thread safety: any. May sleep: no spin lock, no RCU section, no lock of the inode.
#ifndef NFSWALK_NFSCLIENT_DATA_SET_ATTRIBUTES_H_
#define NFSWALK_NFSCLIENT_DATA_SET_ATTRIBUTES_H_

#include <expected>
#include <functional>
#include <system_error>

#include "nfsclient/protocol/types.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::data {

// SETATTR, after what was written to the inode has reached stable storage, and before anything else
// is written to it: write-back and change are one step under the file's i_rwsem (notify_change()).
// Returns the attributes that the inode has then. Errors: timed_out, operation_canceled,
// not_enough_memory: the outcome is not known, but a change of the size is complete before what is
// written later; the server's.
std::expected<protocol::Attributes, std::errc> SetAttributesOf(
    nfs::Superblock& superblock, icache::Inode& inode, const protocol::SetAttributes& attributes,
    const sunrpc_auth::Credential& credential);

// Makes `change`, of anything else of the inode, at the same place in the order of what is written
// to it. Errors: as above; those of `change`.
std::errc ChangeFlushed(nfs::Superblock& superblock, icache::Inode& inode,
                        const std::function<std::errc()>& change);

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_SET_ATTRIBUTES_H_
