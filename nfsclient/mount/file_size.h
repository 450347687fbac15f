// file_size: tells the kernel the size of a file without a reply.
//
// Thread safety: any thread that serves no request which the kernel may wait for with a page.
#ifndef NFSWALK_NFSCLIENT_MOUNT_FILE_SIZE_H_
#define NFSWALK_NFSCLIENT_MOUNT_FILE_SIZE_H_

#include <cstdint>

#include "nfsclient/mount/file_system.h"

namespace nfswalk::mount {

// Stores the last page of a file (FUSE_NOTIFY_STORE), which raises the kernel's size to `bytes` if
// it is less. Does nothing for a file that cannot be read. Preconditions: a request for the node is
// in progress.
void StoreEnd(FileSystem& file_system, NodeNumber number, File& file, uint64_t bytes);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_FILE_SIZE_H_
