// operations: what libfuse calls for each request of the kernel (fuse_lowlevel.h,
// fuse_lowlevel_ops).
//
// Thread safety: any thread. None waits for the server or for a lock that is held meanwhile: see
// answer.h.
#ifndef NFSWALK_NFSCLIENT_MOUNT_OPERATIONS_H_
#define NFSWALK_NFSCLIENT_MOUNT_OPERATIONS_H_

#include "nfsclient/mount/fuse.h"

namespace nfswalk::mount {

void AddNameOperations(fuse_lowlevel_ops& operations);
void AddAttributeOperations(fuse_lowlevel_ops& operations);
void AddFileOperations(fuse_lowlevel_ops& operations);
void AddDirectoryOperations(fuse_lowlevel_ops& operations);
void AddLockOperations(fuse_lowlevel_ops& operations);
void AddXattrOperations(fuse_lowlevel_ops& operations);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_OPERATIONS_H_
