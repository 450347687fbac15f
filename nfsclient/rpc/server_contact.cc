#include "nfsclient/rpc/server_contact.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace nfswalk::protocol {
namespace {

using Clock = std::chrono::steady_clock;

// Shared with the resolver's thread, which may outlive ResolveHost().
struct Resolution {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;  // this and below: guarded by mutex
  int error = 0;
  std::vector<std::string> addresses;
};

void Resolve(const std::string& host, Resolution& resolution) {
  // No AI_ADDRCONFIG: it hides 127.0.0.1 where the loopback is the only interface.
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  std::vector<std::string> addresses;
  try {
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
      char text[NI_MAXHOST];
      if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
          0) {
        addresses.emplace_back(text);
      }
    }
  } catch (const std::bad_alloc&) {
    error = EAI_MEMORY;
  }
  std::lock_guard lock(resolution.mutex);
  resolution.error = error == 0 && addresses.empty() ? EAI_NONAME : error;
  resolution.addresses = std::move(addresses);
  resolution.done = true;
  resolution.finished.notify_all();
}

// Returns the errno of a connect(2) bounded by `deadline`, 0 if it succeeded.
int TryConnect(const std::string& address, uint16_t port, ContactDeadline deadline) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) {
    return EHOSTUNREACH;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  const int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  int error = 0;
  if (connect(fd, list->ai_addr, list->ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd event{fd, POLLOUT, 0};
    const int wait_ms = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
    error = ETIMEDOUT;
    if (poll(&event, 1, wait_ms) == 1) {
      socklen_t size = sizeof error;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  close(fd);
  return error;
}

std::string AdviceFor(std::errc error) {
  if (error == std::errc::connection_refused) return "is the service running, is the port right?";
  if (error == std::errc::timed_out) return "is the server up, does a firewall drop packets?";
  return "check the route to the server";
}

}  // namespace

std::expected<std::vector<std::string>, ConnectError> ResolveHost(const std::string& host,
                                                                  ContactDeadline deadline,
                                                                  const std::string& like) {
  const auto resolution = std::make_shared<Resolution>();
  try {
    std::thread([host, resolution] { Resolve(host, *resolution); }).detach();
  } catch (const std::system_error& error) {
    return std::unexpected(
        ConnectError{std::errc{error.code().value()}, "cannot start a thread to resolve " + host});
  }
  std::unique_lock lock(resolution->mutex);
  if (!resolution->finished.wait_until(lock, deadline, [&] { return resolution->done; })) {
    return std::unexpected(
        ConnectError{std::errc::timed_out, "host " + host +
                                               ": no answer from the resolver in "
                                               "time; give its address instead"});
  }
  if (!like.empty()) {
    std::erase_if(resolution->addresses, [&](const std::string& address) {
      return address.contains(':') != like.contains(':');
    });
    if (resolution->addresses.empty()) resolution->error = EAI_NONAME;
  }
  if (resolution->error != 0) {
    return std::unexpected(
        ConnectError{std::errc::host_unreachable, "unknown host " + host + ": " +
                                                      gai_strerror(resolution->error) +
                                                      "; check the name or give an address"});
  }
  return resolution->addresses;
}

std::expected<std::string, ConnectError> FindListening(const std::vector<std::string>& addresses,
                                                       uint16_t port, const std::string& what,
                                                       const std::string& host,
                                                       ContactDeadline deadline) {
  int error = EHOSTUNREACH;
  for (const std::string& address : addresses) {
    error = TryConnect(address, port, deadline);
    if (error == 0) return address;
  }
  return std::unexpected(ConnectError{std::errc{error}, what + " service on " + host + " port " +
                                                            std::to_string(port) + ": " +
                                                            std::generic_category().message(error) +
                                                            "; " + AdviceFor(std::errc{error})});
}

}  // namespace nfswalk::protocol
