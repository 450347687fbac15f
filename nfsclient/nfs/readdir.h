// readdir: lists a directory. Listings are not cached; each entry of a READDIRPLUS primes the
// dentry and attribute caches (NAME-20).
#ifndef NFSWALK_NFSCLIENT_NFS_READDIR_H_
#define NFSWALK_NFSCLIENT_NFS_READDIR_H_

#include <functional>
#include <system_error>

#include "nfsclient/nfs/superblock.h"
#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::nfs {

// Calls `visit` for each entry but "." and "..", until it returns false or the directory ends. A
// directory that is changed meanwhile lists each entry that stayed exactly once, as far as the
// server's cookies hold; if they do not (NFS3ERR_BAD_COOKIE) the listing ends with the server's
// error. ELOOP, after some entries were visited again, if the cookies lead back to earlier ones.
// `deadline`, if given, is renewed for each READDIR, and no limit while the caller's code visits.
// Preconditions: a reference on `directory`; may sleep; `visit` is called without locks.
std::errc ReadDirectory(Superblock& superblock, vfs::DentryRef& directory,
                        const sunrpc_auth::Credential& credential,
                        const std::function<bool(const protocol::DirectoryEntry&)>& visit,
                        protocol::CallDeadline* deadline = nullptr);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_READDIR_H_
