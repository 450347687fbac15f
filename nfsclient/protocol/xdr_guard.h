// xdr_guard: checks lengths in replies before libnfs decodes them.
//
// libnfs 4.0.0 adds a length from the wire to a signed position (2^31 or more moves it in front of
// the buffer), allocates an array's length unchecked and decodes a list by recursion, so one reply
// could crash the client. This file interposes libnfs' decoders of bytes, strings, opaques, arrays
// and pointers: the program precedes libnfs in the dynamic linker's search order. Each checks, then
// calls the original. A reply that fails is RejectReason::kMalformedReply.
//
// Thread safety: as libnfs: one thread per context.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_XDR_GUARD_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_XDR_GUARD_H_

namespace nfswalk::protocol {

// Returns whether libnfs calls these decoders. False if the program is linked with libnfs before
// this library.
bool XdrGuardIsInPlace();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_XDR_GUARD_H_
