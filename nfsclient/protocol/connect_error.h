// connect_error: why the first contact with a server failed.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_CONNECT_ERROR_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_CONNECT_ERROR_H_

#include <string>
#include <system_error>

namespace nfswalk::protocol {

struct ConnectError {
  std::errc error{};
  std::string message;  // names host, port and export, and what to do about it
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_CONNECT_ERROR_H_
