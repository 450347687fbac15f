// status: nfsstat3 (RFC 1813 2.6) as errno.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_NFS3_STATUS_H_
#define NFSWALK_NFSCLIENT_NFS3_STATUS_H_

#include <system_error>

namespace nfswalk::protocol {

// Returns errc{} for NFS3_OK, io_error for a status that is not in RFC 1813. JUKEBOX is kJukebox,
// TOOSMALL is kTooSmall (internal_errors.h).
std::errc ErrnoOfStatus(int nfsstat3);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS3_STATUS_H_
