// nfs4_arguments: XDR sizes and conversions for nfs4_compound*.cc.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NFS4_ARGUMENTS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NFS4_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nfsclient/protocol/nfs4_state.h"

struct stateid4;

namespace nfswalk::protocol {

// RFC 4506 3: the basic block is four bytes.
inline constexpr size_t kXdrWordBytes = 4;
inline constexpr size_t kXdrHyperBytes = 8;
constexpr size_t XdrPadded(size_t bytes) { return (bytes + 3) / 4 * 4; }
// Encoded size of variable-length opaque data: length, bytes, padding.
constexpr size_t XdrCounted(size_t bytes) { return kXdrWordBytes + XdrPadded(bytes); }

inline constexpr size_t kStateIdBytes = 16;
stateid4 ToWire(const StateId& state);

// Returns `bytes` as a pair of length and pointer, which borrows. libnfs' pointers are not const
// even where it only reads.
template <typename Wire>
Wire Counted(std::string_view bytes) {
  return {static_cast<uint32_t>(bytes.size()), const_cast<char*>(bytes.data())};
}

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NFS4_ARGUMENTS_H_
