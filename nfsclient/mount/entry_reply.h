// entry_reply: replies that tell the kernel what a name leads to.
//
// Thread safety: any thread.
#ifndef NFSWALK_NFSCLIENT_MOUNT_ENTRY_REPLY_H_
#define NFSWALK_NFSCLIENT_MOUNT_ENTRY_REPLY_H_

#include <string>
#include <system_error>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/node_table.h"

namespace nfswalk::mount {

// Looks `name` up, and replies with what it leads to, or for how long it is known that it does not
// exist.
std::errc ReplyLookup(const Try& attempt, NodeNumber parent, const std::string& name);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_ENTRY_REPLY_H_
