// transport_options: the server's address and the mount options of the transport, and the error of
// a mount that does not reach it.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_OPTIONS_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

namespace nfswalk::protocol {

struct ServerAddress {
  std::string host;
  std::string export_path;  // with a leading '/'; version 4: from the pseudo root
  uint16_t nfs_port = 0;    // 0: from the portmapper; version 4: 2049
  uint16_t mount_port = 0;  // 0: from the portmapper; version 4: unused
  static constexpr int kLatest = 0;  // that the server offers
  int version = kLatest;             // or 3, 4
  // 0 to 2, of version 4; nullopt: the latest that the server offers.
  std::optional<uint32_t> minor_version = {};
};

// Names and meanings as in nfs(5).
struct TransportOptions {
  uint32_t nconnect = 1;    // 1..16 connections
  bool hard = true;         // retry for ever; false: errc::timed_out after `retrans` retries
  uint32_t timeo_ds = 600;  // deciseconds until a call is retransmitted
  uint32_t retrans = 2;
  // Limit of the mount itself, from the resolver to the attributes of the root, hard or soft.
  uint32_t mount_timeout_ms = 10'000;
  // false: a call had no reply in time, nor had its `retrans` repetitions ("not responding" of
  // xprt_adjust_timeout()); true: the next reply. Runs on a thread that is in a call of the client,
  // which may hold locks: it calls nothing of the client, and does not block.
  std::function<void(bool responds)> on_server_responds = nullptr;
};

// Why a mount could not reach its server.
struct ConnectError {
  std::errc error{};
  std::string message;  // names host, port and export, with advice
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_TRANSPORT_OPTIONS_H_
