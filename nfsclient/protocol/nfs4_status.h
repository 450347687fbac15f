// nfs4_status: nfsstat4 (RFC 7530 13) as errno.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_STATUS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_STATUS_H_

#include <system_error>

namespace nfswalk::protocol {

// errc{} for NFS4_OK, io_error for a status that RFC 7530 does not know or that tells of a mistake
// of ours. DELAY and GRACE are kJukebox, TOOSMALL is kTooSmall (internal_errors.h). STALE,
// BADHANDLE and FHEXPIRED are ESTALE: the name leads to a handle that works (RFC 7530 4.2.3).
// SYMLINK is ELOOP where it is not asked for: an operation on a symbolic link that does not follow
// any.
std::errc ErrnoOfStatus4(int nfsstat4);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_STATUS_H_
