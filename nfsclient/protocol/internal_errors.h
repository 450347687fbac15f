// internal_errors: what a server's status can mean beyond the errno values that callers see. They
// are answered inside this folder. They have no errno in user space; these are the numbers that
// Linux uses inside its own client.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_INTERNAL_ERRORS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_INTERNAL_ERRORS_H_

#include <system_error>

namespace nfswalk::protocol {

// Not executed, ask again later: NFS3ERR_JUKEBOX, NFS4ERR_DELAY, NFS4ERR_GRACE.
inline constexpr std::errc kJukebox{528};
// NFS3ERR_TOOSMALL, NFS4ERR_TOOSMALL.
inline constexpr std::errc kTooSmall{525};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_INTERNAL_ERRORS_H_
