// fuse: libfuse's low-level API, 3.14 and later.
#ifndef NFSWALK_NFSCLIENT_MOUNT_FUSE_H_
#define NFSWALK_NFSCLIENT_MOUNT_FUSE_H_

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse3/fuse_lowlevel.h>

#include <string_view>

namespace nfswalk::mount {

// Has the kernel look a name up again before it uses it. -ENOSYS where the kernel cannot (before
// Linux 6.2).
inline int ExpireEntry(fuse_session* session, fuse_ino_t directory, std::string_view name) {
#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 16)
  return fuse_lowlevel_notify_expire_entry(session, directory, name.data(), name.size(),
                                           FUSE_LL_EXPIRE_ONLY);
#else
  return fuse_lowlevel_notify_expire_entry(session, directory, name.data(), name.size());
#endif
}

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_FUSE_H_
