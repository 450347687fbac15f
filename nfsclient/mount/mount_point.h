// mount_point: whether a directory can be mounted on.
//
// Thread safety: pure function of the file system.
#ifndef NFSWALK_NFSCLIENT_MOUNT_MOUNT_POINT_H_
#define NFSWALK_NFSCLIENT_MOUNT_MOUNT_POINT_H_

#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace nfswalk::mount {

// The absolute path of `directory`. The error is a sentence that says why it is none to mount on
// and what to do: not there, no directory, a dead mount, what is mounted there already is the
// source (mount(2), EBUSY), as `is_source` says of that in the kernel's table, not this user's, not
// empty (unless `nonempty`); no /dev/fuse, no fusermount3.
std::expected<std::string, std::string> CheckMountPoint(
    const std::string& directory, const std::function<bool(std::string_view)>& is_source,
    bool nonempty);

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_MOUNT_POINT_H_
