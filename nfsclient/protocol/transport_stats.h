// transport_stats: what the way to the server has done since it was mounted, as mountstats of the
// kernel's client.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_STATS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_STATS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace nfswalk::protocol {

// Calls that were answered. A COMPOUND of version 4 counts as the operation that it is sent for.
struct ProcedureStats {
  std::string_view name;  // "READDIRPLUS"; static
  uint64_t replies = 0;
  uint64_t total_ns = 0;  // from sending until the reply
  uint64_t max_ns = 0;
};

// Delegations of version 4.
struct DelegationStats {
  uint64_t held = 0;  // now
  uint64_t granted = 0;
  uint64_t refused = 0;   // where one was asked for
  uint64_t recalled = 0;  // of those granted, by the server's call
  uint64_t returned = 0;
  uint64_t revoked = 0;  // by the server, of those returned
};

struct TransportStats {
  std::vector<ProcedureStats> procedures;  // those with a reply
  uint64_t retries = 0;                    // calls sent again
  uint64_t connections_opened = 0;         // over all of nconnect
  bool has_back_channel = false;           // the server has bound a connection to call over
  uint64_t callbacks = 0;                  // its calls that were answered
  DelegationStats delegations = {};
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_STATS_H_
