// mount_point: whether a directory can be mounted on.
//
// Thread safety: pure function of the file system.
#ifndef NFSWALK_NFSCLIENT_MOUNT_MOUNT_POINT_H_
#define NFSWALK_NFSCLIENT_MOUNT_MOUNT_POINT_H_

#include <expected>
#include <string>

namespace nfswalk::mount {

// The absolute path of `directory`. The error is a sentence that says why it is none to mount on
// and what to do: not there, no directory, a dead mount, `source` is mounted there already
// (mount(2), EBUSY), not this user's, not empty (unless `nonempty`); no /dev/fuse, no fusermount3.
std::expected<std::string, std::string> CheckMountPoint(const std::string& directory,
                                                        const std::string& source, bool nonempty);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_MOUNT_POINT_H_
