// tcp_socket: one TCP socket for the whole life of a connection, however often it connects.
//
// It stays in the network namespace of the thread that created it, and bound to the port that it
// had first (connect(2), AF_UNSPEC), by which a server's duplicate request cache recognises the
// client.
// As root the port is a reserved one, which many servers require (exports(5), secure).
//
// Thread safety: SetSilence(), Interrupt(), MakeWakeable(), Wake(): any thread. One thread sends
// and one receives at a time; nothing else is called meanwhile.
#ifndef NFSWALK_NFSCLIENT_RPC_TCP_SOCKET_H_
#define NFSWALK_NFSCLIENT_RPC_TCP_SOCKET_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

namespace nfswalk::rpc {

class TcpSocket {
 public:
  using Clock = std::chrono::steady_clock;
  // Receive() with `wait` returns after this time at the latest.
  static constexpr std::chrono::seconds kReceiveWaitMax{1};

  TcpSocket() = default;
  ~TcpSocket();
  TcpSocket(const TcpSocket&) = delete;
  TcpSocket& operator=(const TcpSocket&) = delete;

  // Creates the socket. `address` is numeric; `silence_max`: SetSilence(). Call once. Errors: those
  // of socket(2); invalid_argument for an address that is not numeric.
  std::errc Create(const std::string& address, uint16_t port,
                   std::chrono::milliseconds silence_max);
  // How long a peer may be unreachable before the connection ends (TCP_USER_TIMEOUT, keepalive).
  void SetSilence(std::chrono::milliseconds silence_max);
  // Replaces the peer, for the next Connect(). Errors: invalid_argument for an address that is not
  // numeric; address_family_not_supported for one of another family.
  std::errc SetPeer(const std::string& address, uint16_t port);
  // Starts to connect. Returns 0, EINPROGRESS (then Poll() for POLLOUT and ConnectResult()) or an
  // error of connect(2).
  int Connect();
  // Returns the error of the attempt, 0 if it succeeded.
  int ConnectResult();
  // Call once connected.
  void Established();
  // Ends the connection at once, by RST if it was established. Connect() may follow.
  void Disconnect();
  // Ends a Receive() or Poll() of another thread, and later ones. Sends nothing: after a FIN the
  // port could not be used for a minute (TIME_WAIT).
  void Interrupt() { shutdown(fd_, SHUT_RD); }

  // Sends what fits without waiting. Returns bytes or -errno.
  ssize_t Send(std::span<iovec> parts);
  // Returns bytes, 0 at the end of the stream, -errno; -EAGAIN if nothing came.
  ssize_t Receive(std::span<std::byte> into, bool wait);
  // Waits for poll(2) `events` until a time. Returns those that came.
  short Poll(short events, Clock::time_point until) { return Poll(events, until, -1); }
  // Poll() for one thread at a time; Wake() ends it, or the next one. Returns 0 then.
  short PollOrWake(short events, Clock::time_point until);
  // Wake() has no effect before, nor without a free descriptor.
  void MakeWakeable();
  bool is_wakeable() const { return wake_fd_.load() >= 0; }
  void Wake();
  // Returns whether the peer ended the connection.
  bool has_ended();

 private:
  short Poll(short events, Clock::time_point until, int wake_fd);
  bool BindReservedPort();
  void BindFreePort();
  int Bind(int fd, uint16_t port) const;

  int fd_ = -1;
  std::atomic<int> wake_fd_{-1};  // eventfd(2)
  sockaddr_storage address_{};
  socklen_t address_bytes_ = 0;
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_TCP_SOCKET_H_
