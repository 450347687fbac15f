// mount3: the export's root handle, by the MOUNT protocol version 3 (RFC 1813 5) and, for ports
// that are not given, the portmapper (RFC 1833 3).
//
// `address` is numeric (server_contact.h), `host` the name that the user gave, for messages.
// Thread safety: all functions. They block until `deadline` at most.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_MOUNT3_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_MOUNT3_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "nfsclient/protocol/connect_error.h"
#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/rpc_channel.h"

namespace nfswalk::protocol {

struct MountPoint {
  std::string host;
  std::string address;
  uint16_t port = 0;  // of the MOUNT program
  std::string export_path;
};

// The TCP port of `program` version 3. `name` ("NFS", "MOUNT") is for messages.
// Errors: connection_refused and its like (no portmapper), protocol_not_supported (program not
// registered, or no portmapper behind the port), timed_out.
std::expected<uint16_t, ConnectError> AskPortmapper(const std::string& host,
                                                    const std::string& address, uint32_t program,
                                                    const std::string& name,
                                                    RpcCall::Clock::time_point deadline);

// MNT, as this process' user. A server that accepts neither AUTH_SYS nor AUTH_NONE is refused.
// Errors: no_such_file_or_directory (no such export), permission_denied, not_a_directory,
// filename_too_long, protocol_not_supported (no MOUNT version 3 there), permission_denied (Kerberos
// only), timed_out, io_error (reply does not parse).
std::expected<FileHandle, ConnectError> Mount3(const MountPoint& point,
                                               RpcCall::Clock::time_point deadline);

// UMNT: lets the server forget its note of our mount. Advisory, so nothing is reported.
void Unmount3(const MountPoint& point, RpcCall::Clock::time_point deadline);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_MOUNT3_H_
