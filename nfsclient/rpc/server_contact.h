// server_contact: resolves a host name to an address whose port accepts connections.
//
// Not left to libnfs, which resolves without a timeout and reports "POLLHUP" for every failure: a
// probing connection, closed at once, distinguishes refused from unreachable.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_RPC_SERVER_CONTACT_H_
#define NFSWALK_NFSCLIENT_RPC_SERVER_CONTACT_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "nfsclient/protocol/transport_options.h"

namespace nfswalk::protocol {

using ContactDeadline = std::chrono::steady_clock::time_point;

// Returns the numeric addresses of `host`, at least one, in the resolver's order; only those of the
// family of `like`, if that is an address. After `deadline` the resolver continues on a detached
// thread. Errors: host_unreachable (unknown host), timed_out.
std::expected<std::vector<std::string>, ConnectError> ResolveHost(const std::string& host,
                                                                  ContactDeadline deadline,
                                                                  const std::string& like = "");

// Returns the first of `addresses` (numeric) that accepts a TCP connection on `port`. For messages:
// `what` is the service ("NFS"), `host` the name that the user gave. Errors: connection_refused,
// timed_out, or the errno of connect(2) for the last address.
std::expected<std::string, ConnectError> FindListening(const std::vector<std::string>& addresses,
                                                       uint16_t port, const std::string& what,
                                                       const std::string& host,
                                                       ContactDeadline deadline);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_RPC_SERVER_CONTACT_H_
