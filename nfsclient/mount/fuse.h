// fuse: libfuse's low-level API, of the version that this is written for.
#ifndef NFSWALK_NFSCLIENT_MOUNT_FUSE_H_
#define NFSWALK_NFSCLIENT_MOUNT_FUSE_H_

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse3/fuse_lowlevel.h>

#endif  // NFSWALK_NFSCLIENT_MOUNT_FUSE_H_
