// internal_errors: errors that nfs3/ and nfs4/ and the transport below have among them, and nothing
// above.
//
// They have no errno in user space; the numbers are those of Linux' include/linux/errno.h
// (EJUKEBOX, ETOOSMALL).
#ifndef NFSWALK_NFSCLIENT_RPC_INTERNAL_ERRORS_H_
#define NFSWALK_NFSCLIENT_RPC_INTERNAL_ERRORS_H_

#include <system_error>

namespace nfswalk::protocol {

// Not executed, to be repeated later: NFS3ERR_JUKEBOX, NFS4ERR_DELAY, NFS4ERR_GRACE.
inline constexpr std::errc kJukebox{528};
// NFS3ERR_TOOSMALL, NFS4ERR_TOOSMALL.
inline constexpr std::errc kTooSmall{525};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_RPC_INTERNAL_ERRORS_H_
