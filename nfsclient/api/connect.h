// connect: the connection of a mount, by the latest version of NFS that its options allow and the
// server offers.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_API_CONNECT_H_
#define NFSWALK_NFSCLIENT_API_CONNECT_H_

#include <expected>
#include <memory>

#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/transport_options.h"

namespace nfswalk {

struct Connected {
  std::unique_ptr<protocol::Protocol> protocol;
  protocol::ServerAddress server;  // `version` and `minor_version` are those agreed on
};

// Connects by the version that `server` names; where it leaves a choice, by the first that the
// server offers of 4.2, 4.1, 4.0 and 3 (nfs(5) nfsvers). Version 3 is tried also where version 4
// does not show the export, or nothing listens on its port. All attempts together take
// TransportOptions::mount_timeout_ms at most. Errors: those of ConnectNfs3() and ConnectNfs4();
// where both were tried the message has that of each.
std::expected<Connected, protocol::ConnectError> Connect(const protocol::ServerAddress& server,
                                                         const protocol::TransportOptions& options);

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_API_CONNECT_H_
