// status: nfsstat4 (RFC 7530 13) as errno.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_NFS4_STATUS_H_
#define NFSWALK_NFSCLIENT_NFS4_STATUS_H_

#include <system_error>

namespace nfswalk::protocol {

// Returns errc{} for NFS4_OK, io_error for a status that is not in RFC 7530, reports lost state or
// an error of this client. DELAY and GRACE are kJukebox, TOOSMALL is kTooSmall (internal_errors.h).
// STALE, BADHANDLE and FHEXPIRED are ESTALE: the handle must be looked up again (RFC 7530 4.2.3).
// SYMLINK, of an operation that does not follow symbolic links, is ELOOP.
std::errc ErrnoOfStatus4(int nfsstat4);
// Returns whether a COMPOUND of fewer operations, or of less data, might do: RESOURCE, and from
// version 4.1 on REQ_TOO_BIG, REP_TOO_BIG, REP_TOO_BIG_TO_CACHE and TOO_MANY_OPS.
bool IsTooLarge(int nfsstat4);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_STATUS_H_
