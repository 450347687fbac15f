// connect_error: why a mount could not reach its server.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_CONNECT_ERROR_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_CONNECT_ERROR_H_

#include <string>
#include <system_error>

namespace nfswalk::protocol {

struct ConnectError {
  std::errc error{};
  std::string message;  // names host, port and export, with advice
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_CONNECT_ERROR_H_
