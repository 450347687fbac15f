// server_locator: where a server is: asked for anew, on a thread of its own, once it cannot be
// reached there any more. Its name may lead to another address, its service have another port.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_RPC_SERVER_LOCATOR_H_
#define NFSWALK_NFSCLIENT_RPC_SERVER_LOCATOR_H_

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "nfsclient/protocol/transport_options.h"

namespace nfswalk::rpc {

struct ServerLocation {
  std::string address;  // numeric
  uint16_t port = 0;
  uint16_t mount_port = 0;  // of MOUNT; version 4: unused
};

class ServerLocator {
 public:
  // Returns where the server is now, of the address family of `known`. Takes bounded time. Runs in
  // the network namespace of the thread that made the locator, and may outlive that.
  using Ask = std::function<std::expected<ServerLocation, protocol::ConnectError>(
      const ServerLocation& known)>;

  ServerLocator(ServerLocation known, Ask ask);

  // Not null. Allocates nothing.
  std::shared_ptr<const ServerLocation> Current() const;
  // Starts to ask, unless that is in flight. Does nothing without memory or a thread for it.
  void AskAnew() noexcept;

 private:
  struct State;

  // Shared with the thread that asks.
  const std::shared_ptr<State> state_;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_SERVER_LOCATOR_H_
