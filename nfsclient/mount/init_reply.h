// init_reply: passes on to the kernel what libfuse 3.14 leaves out of its reply to FUSE_INIT: that
// lookups and listings of one directory may come at the same time (FUSE_PARALLEL_DIROPS), that
// set-user-ID bits are cleared by who is written to (FUSE_HANDLE_KILLPRIV), as a writer who is not
// the owner cannot, and that as much is read ahead as the mount has when it is answered, not when
// it was sent.
#ifndef NFSWALK_NFSCLIENT_MOUNT_INIT_REPLY_H_
#define NFSWALK_NFSCLIENT_MOUNT_INIT_REPLY_H_

#include "nfsclient/mount/fuse.h"

namespace nfswalk::mount {

// Preconditions: the session is mounted and has received nothing. One session a process.
void CompleteInitReply(fuse_session* session);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_INIT_REPLY_H_
