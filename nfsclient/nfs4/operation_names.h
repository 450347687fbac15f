// operation_names: the operations of version 4.0 (RFC 7530 16), for reports.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_OPERATION_NAMES_H_
#define NFSWALK_NFSCLIENT_NFS4_OPERATION_NAMES_H_

#include <span>
#include <string_view>

namespace nfswalk::protocol {

// By number.
std::span<const std::string_view> OperationNames();

// A COMPOUND of several operations is for the one with the highest rank, and the first of these.
// Handles have the lowest, then attributes, rights, lookups.
int OperationRank(int operation);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_OPERATION_NAMES_H_
