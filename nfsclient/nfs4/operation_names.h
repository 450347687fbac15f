// operation_names: the operations of version 4 (RFC 7530 16, RFC 8881 18, RFC 7862 15, RFC
// 8276 8.4), for reports; the numbers of those that libnfs does not name.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_OPERATION_NAMES_H_
#define NFSWALK_NFSCLIENT_NFS4_OPERATION_NAMES_H_

#include <span>
#include <string_view>

namespace nfswalk::protocol {

inline constexpr int kOpBindConnToSession = 41;
inline constexpr int kOpExchangeId = 42;
inline constexpr int kOpCreateSession = 43;
inline constexpr int kOpDestroySession = 44;
inline constexpr int kOpFreeStateId = 45;
inline constexpr int kOpGetDirDelegation = 46;
inline constexpr int kOpTestStateId = 55;
inline constexpr int kOpDestroyClientId = 57;
inline constexpr int kOpReclaimComplete = 58;
inline constexpr int kOpAllocate = 59;
inline constexpr int kOpCopy = 60;
inline constexpr int kOpDeallocate = 62;
inline constexpr int kOpSeek = 69;
inline constexpr int kOpGetXattr = 72;
inline constexpr int kOpSetXattr = 73;
inline constexpr int kOpListXattrs = 74;
inline constexpr int kOpRemoveXattr = 75;

// By number.
std::span<const std::string_view> OperationNames();

// A COMPOUND of several operations is for the one with the highest rank, and the first of these.
// Handles have the lowest, then attributes, rights, lookups.
int OperationRank(int operation);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_OPERATION_NAMES_H_
