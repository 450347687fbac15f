#include "nfsclient/rpc/tcp_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

namespace nfswalk::rpc {
namespace {

using std::chrono::milliseconds;

// As net/sunrpc/xprtsock.c has them (min_resvport, max_resvport): most services lie below.
constexpr uint16_t kReservedPortMin = 665;
constexpr uint16_t kReservedPortMax = 1023;
constexpr int kKeepaliveProbes = 3;
constexpr milliseconds kPollMax{60'000};

template <typename Value>
void Set(int fd, int level, int option, const Value& value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

void SetPort(sockaddr_storage& address, uint16_t port) {
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  }
}

uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

sockaddr* Pointer(sockaddr_storage& address) { return reinterpret_cast<sockaddr*>(&address); }

}  // namespace

TcpSocket::~TcpSocket() {
  if (fd_ >= 0) close(fd_);
  if (is_wakeable()) close(wake_fd_.load());
}

std::errc TcpSocket::SetPeer(const std::string& address, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) {
    return std::errc::invalid_argument;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  if (fd_ >= 0 && list->ai_family != address_.ss_family) {
    return std::errc::address_family_not_supported;
  }
  std::memcpy(&address_, list->ai_addr, list->ai_addrlen);
  address_bytes_ = list->ai_addrlen;
  return {};
}

std::errc TcpSocket::Create(const std::string& address, uint16_t port, milliseconds silence_max) {
  if (const std::errc error = SetPeer(address, port); error != std::errc{}) return error;
  fd_ = socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return std::errc{errno};
  // Else a call waits about 40 ms for the ACK of the one before.
  Set(fd_, IPPROTO_TCP, TCP_NODELAY, 1);
  SetSilence(silence_max);
  Set(fd_, SOL_SOCKET, SO_RCVTIMEO, timeval{kReceiveWaitMax.count(), 0});
  // close(2) resets: else the port could not be used for a minute (TIME_WAIT), and there are few.
  Set(fd_, SOL_SOCKET, SO_LINGER, linger{1, 0});
  if (!BindReservedPort()) BindFreePort();
  return {};
}

void TcpSocket::SetSilence(milliseconds silence_max) {
  const auto silence_ms = std::max<int64_t>(silence_max.count(), 1);
  const int probe_s =
      static_cast<int>(std::clamp<int64_t>(silence_ms / 1000 / kKeepaliveProbes, 1, 7200));
  Set(fd_, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd_, IPPROTO_TCP, TCP_KEEPIDLE, probe_s);
  Set(fd_, IPPROTO_TCP, TCP_KEEPINTVL, probe_s);
  Set(fd_, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  Set(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<unsigned>(std::min<int64_t>(silence_ms, INT32_MAX)));
}

// Returns false if none is free or permitted.
bool TcpSocket::BindReservedPort() {
  constexpr uint16_t kPorts = kReservedPortMax - kReservedPortMin + 1;
  const auto first = static_cast<uint16_t>(arc4random() % kPorts);
  for (uint16_t i = 0; i < kPorts; ++i) {
    const int error = Bind(fd_, static_cast<uint16_t>(kReservedPortMin + (first + i) % kPorts));
    if (error != EADDRINUSE) return error == 0;
  }
  return false;
}

// Binds to a port that the kernel chooses. It would not keep one that it chose for this socket when
// that disconnects, but one that was asked for.
void TcpSocket::BindFreePort() {
  constexpr int kTriesMax = 8;  // another process may take it in between
  for (int i = 0; i < kTriesMax; ++i) {
    const int probe = socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (probe < 0) return;
    const bool found = Bind(probe, 0) == 0 && getsockname(probe, Pointer(own), &size) == 0;
    close(probe);
    if (!found || Bind(fd_, PortOf(own)) == 0) return;
  }
}

// To every address: that of the machine may change.
int TcpSocket::Bind(int fd, uint16_t port) const {
  sockaddr_storage own{};
  own.ss_family = address_.ss_family;
  SetPort(own, port);
  return bind(fd, Pointer(own), address_bytes_) == 0 ? 0 : errno;
}

int TcpSocket::Connect() {
  fcntl(fd_, F_SETFL, O_NONBLOCK);
  return connect(fd_, Pointer(address_), address_bytes_) == 0 ? 0 : errno;
}

int TcpSocket::ConnectResult() {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return error;
  // A port of this machine at which nothing listens may connect to itself (simultaneous open).
  sockaddr_storage own{};
  size = sizeof own;
  getsockname(fd_, Pointer(own), &size);
  return std::memcmp(&own, &address_, address_bytes_) == 0 ? ECONNREFUSED : 0;
}

void TcpSocket::Established() { fcntl(fd_, F_SETFL, 0); }

void TcpSocket::Disconnect() {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  (void)connect(fd_, &none, sizeof none);
}

ssize_t TcpSocket::Send(std::span<iovec> parts) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent >= 0 ? sent : -errno;
}

ssize_t TcpSocket::Receive(std::span<std::byte> into, bool wait) {
  const ssize_t received = recv(fd_, into.data(), into.size(), wait ? 0 : MSG_DONTWAIT);
  if (received >= 0) return received;
  return errno == EINTR ? -EAGAIN : -errno;
}

short TcpSocket::Poll(short events, Clock::time_point until, int wake_fd) {
  const Clock::time_point now = Clock::now();
  const auto wait = std::chrono::ceil<milliseconds>(
      std::clamp<Clock::duration>(until - std::min(now, until), Clock::duration::zero(), kPollMax));
  pollfd entries[] = {{fd_, events, 0}, {wake_fd, POLLIN, 0}};  // a negative one is passed over
  return poll(entries, std::size(entries), static_cast<int>(wait.count())) > 0 ? entries[0].revents
                                                                               : short{0};
}

short TcpSocket::PollOrWake(short events, Clock::time_point until) {
  const int wake_fd = wake_fd_.load();
  const short came = Poll(events, until, wake_fd);
  eventfd_t wakes;
  if (came == 0 && wake_fd >= 0) (void)eventfd_read(wake_fd, &wakes);
  return came;
}

void TcpSocket::MakeWakeable() {
  if (is_wakeable()) return;
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int none = -1;
  if (fd >= 0 && !wake_fd_.compare_exchange_strong(none, fd)) close(fd);
}

void TcpSocket::Wake() {
  const int fd = wake_fd_.load();
  if (fd >= 0) (void)eventfd_write(fd, 1);
}

bool TcpSocket::has_ended() {
  std::byte byte;
  const ssize_t peeked = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace nfswalk::rpc
