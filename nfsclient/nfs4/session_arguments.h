// session_arguments: what EXCHANGE_ID and CREATE_SESSION agree on (RFC 8881 18.35, 18.36).
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_NFS4_SESSION_ARGUMENTS_H_
#define NFSWALK_NFSCLIENT_NFS4_SESSION_ARGUMENTS_H_

#include <array>
#include <cstdint>

namespace nfswalk::protocol {

using SessionId = std::array<char, 16>;

// channel_attrs4, in bytes of whole messages without the record mark.
struct ChannelAttributes {
  uint32_t request_bytes_max = 0;
  uint32_t response_bytes_max = 0;
  uint32_t cached_bytes_max = 0;  // of a reply that the server keeps
  uint32_t operations_max = 0;    // SEQUENCE included
  uint32_t slots = 0;             // ca_maxrequests
};

// Limits of one COMPOUND, SEQUENCE left out; none in version 4.0.
struct CompoundLimits {
  uint32_t operations_max = UINT32_MAX;
  uint32_t request_bytes_max = UINT32_MAX;
  uint32_t response_bytes_max = UINT32_MAX;
};

// The program that the server calls (RFC 8881 18.36, csa_cb_program): any number, since the
// connection is ours alone.
inline constexpr uint32_t kCallbackProgram = 0x40000000;

struct SessionArguments {
  uint64_t client_id = 0;
  uint32_t sequence = 0;  // of CREATE_SESSION
  ChannelAttributes fore;
  ChannelAttributes back;
};

struct ExchangeGrant {
  uint64_t client_id = 0;
  uint32_t sequence = 0;
  bool is_confirmed = false;  // the server knows this client, and what it holds
};

struct SessionGrant {
  SessionId id{};
  ChannelAttributes fore;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_SESSION_ARGUMENTS_H_
