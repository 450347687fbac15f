// mount3: MOUNT version 3 (RFC 1813 5) and GETPORT of the portmapper (RFC 1833 3).
//
// `address` is numeric (server_contact.h), `host` the name that the user gave, for messages.
// All functions block, until `deadline` at most.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS3_MOUNT3_H_
#define NFSWALK_NFSCLIENT_NFS3_MOUNT3_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "nfsclient/protocol/file_handle.h"
#include "nfsclient/protocol/transport_options.h"
#include "nfsclient/rpc/call.h"

namespace nfswalk::protocol {

struct MountPoint {
  std::string host;
  std::string address;
  uint16_t port = 0;  // of the MOUNT program
  std::string export_path;
};

// Returns the TCP port of `program` version 3. `name` ("NFS", "MOUNT") is for messages.
// Errors: those of connect(2) (no portmapper), protocol_not_supported (the program is not
// registered, or port 111 is not a portmapper), timed_out.
std::expected<uint16_t, ConnectError> QueryPortmapper(const std::string& host,
                                                      const std::string& address, uint32_t program,
                                                      const std::string& name,
                                                      rpc::Call::Clock::time_point deadline);

// Sends MNT with the credential of this process and returns the root handle.
// Errors: no_such_file_or_directory (no such export), permission_denied, not_a_directory,
// filename_too_long, protocol_not_supported (no MOUNT version 3), permission_denied (neither
// AUTH_SYS nor AUTH_NONE), timed_out, io_error (malformed reply).
std::expected<FileHandle, ConnectError> Mount3(const MountPoint& point,
                                               rpc::Call::Clock::time_point deadline);

// Sends UMNT. Advisory (RFC 1813 5.2.3): errors are ignored.
void Unmount3(const MountPoint& point, rpc::Call::Clock::time_point deadline);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS3_MOUNT3_H_
