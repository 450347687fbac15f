// nfs3_status: nfsstat3 (RFC 1813 2.6) as errno.
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS3_STATUS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS3_STATUS_H_

#include <system_error>

namespace nfswalk::protocol {

// NFS3ERR_JUKEBOX and NFS3ERR_TOOSMALL are answered inside this folder and never reach a caller.
// They have no errno in user space; these are the numbers that Linux uses inside its own client.
inline constexpr std::errc kJukebox{528};
inline constexpr std::errc kTooSmall{525};

// errc{} for NFS3_OK, io_error for a status that RFC 1813 does not know.
std::errc ErrnoOfStatus(int nfsstat3);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS3_STATUS_H_
