// server_contact: from the name of a host to an address whose port accepts connections.
//
// libnfs would resolve the name inside its connect call, for as long as the resolver likes, and
// says "POLLHUP" for every failure; a connection of our own, closed at once, tells refused from
// unreachable.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_SERVER_CONTACT_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_SERVER_CONTACT_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "nfsclient/protocol/connect_error.h"

namespace nfswalk::protocol {

using ContactDeadline = std::chrono::steady_clock::time_point;

// The numeric addresses of `host`, in the resolver's order, at least one. A resolver that does not
// come back in time is left to itself on a thread of its own. Errors: host_unreachable (unknown
// host), timed_out.
std::expected<std::vector<std::string>, ConnectError> ResolveHost(const std::string& host,
                                                                  ContactDeadline deadline);

// The first of `addresses` (numeric) that accepts a TCP connection on `port`. `what` names the
// service in messages ("NFS"), `host` is the name that the user gave. Errors: connection_refused,
// timed_out, or the errno of connect(2) for the last address tried.
std::expected<std::string, ConnectError> FindListening(const std::vector<std::string>& addresses,
                                                       uint16_t port, const std::string& what,
                                                       const std::string& host,
                                                       ContactDeadline deadline);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_SERVER_CONTACT_H_
