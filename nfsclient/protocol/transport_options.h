// transport_options: where the server is and how patient we are with it.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_OPTIONS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_OPTIONS_H_

#include <cstdint>
#include <string>

namespace nfswalk::protocol {

struct ServerAddress {
  std::string host;
  std::string export_path;  // as the server's MOUNT program knows it, with a leading '/'
  uint16_t nfs_port = 0;    // 0: ask the portmapper
  uint16_t mount_port = 0;  // 0: ask the portmapper
  int version = 3;
};

// Names and meanings of nfs(5).
struct TransportOptions {
  uint32_t nconnect = 1;    // 1..16 connections
  bool hard = true;         // retry for ever; soft: errc::timed_out after `retrans` retries
  uint32_t timeo_ds = 600;  // tenths of a second until a call is taken for lost
  uint32_t retrans = 2;
  // How long the first contact (portmapper, MOUNT, root attributes) may take, hard or soft.
  uint32_t mount_timeout_ms = 10'000;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_OPTIONS_H_
