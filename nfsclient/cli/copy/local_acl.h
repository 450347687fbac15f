// local_acl: POSIX access control lists of files of this machine (acl(5)), as far as a copy has to
// know them. Where a file has one, the group's bits of its mode are the mask of what the users and
// groups that it names may do.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_ACL_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_ACL_H_

#include <system_error>

namespace nfswalk::cli {

// Replaces the ACL of the open file `to` by that of `from`, which may be a descriptor of a path
// alone (O_PATH): its mask changes with it. no_such_file_or_directory where /proc does not show it.
std::errc CopyAcl(int from, int to);

// Removes the ACL of an open file, which it may have got from its directory.
std::errc RemoveAcl(int file);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_ACL_H_
