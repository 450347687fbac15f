// xdr_guard: stands between libnfs and a hostile server.
//
// libnfs 4.0.0 adds a length from the wire to a signed position: a length of 2^31 or more moves it
// in front of the buffer, an array's length is allocated unseen, and a list is decoded by
// recursion. A server could crash us with one reply. So this file defines libnfs' own decoders of
// bytes, strings, opaques, arrays and pointers once more. The dynamic linker binds libnfs' calls to
// them, since the program and its first libraries come before libnfs in its search order; they
// check, then call the originals. A reply that fails reads as malformed
// (RejectReason::kMalformedReply).
//
// Thread safety: the decoders, as those of libnfs, one thread a context.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_XDR_GUARD_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_XDR_GUARD_H_

namespace nfswalk::protocol {

// True if the search order is as said above. False where the program itself is linked with libnfs
// in front of this library.
bool XdrGuardIsInPlace();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_XDR_GUARD_H_
