#include "bench/rpc/null_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/owned_fd.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kLastFragment = 0x80000000;
constexpr size_t kBufferBytes = 64 * 1024;

// RFC 5531 9: record mark, xid, REPLY, MSG_ACCEPTED, an empty verifier, SUCCESS.
using ReplyWords = std::array<uint32_t, 7>;

// Answers all calls of one recv(2) by one send(2). A call is one fragment.
void Serve(OwnedFd fd) {
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> calls(kBufferBytes);
  std::vector<ReplyWords> replies;
  for (size_t filled = 0;;) {
    const ssize_t received = recv(fd.get(), &calls[filled], calls.size() - filled, 0);
    if (received <= 0) return;
    filled += static_cast<size_t>(received);
    size_t taken = 0;
    replies.clear();
    for (std::array<uint32_t, 2> head; filled - taken >= sizeof head;) {  // record mark, xid
      std::memcpy(&head, &calls[taken], sizeof head);
      const size_t bytes = sizeof head[0] + (ntohl(head[0]) & ~kLastFragment);
      if (bytes > filled - taken) break;
      taken += bytes;
      replies.push_back({htonl(kLastFragment | 24), head[1], htonl(1)});
    }
    std::memmove(calls.data(), &calls[taken], filled - taken);
    filled -= taken;
    const size_t bytes = replies.size() * sizeof(ReplyWords);
    if (send(fd.get(), replies.data(), bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) return;
  }
}

[[noreturn]] void AcceptForever(int listening) {
  for (;;) std::thread(Serve, OwnedFd(accept(listening, nullptr, nullptr))).detach();
}

}  // namespace

std::expected<NullServer, std::string> NullServer::Start() {
  const OwnedFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const pointer = reinterpret_cast<sockaddr*>(&address);
  if (bind(listening.get(), pointer, size) != 0 || listen(listening.get(), SOMAXCONN) != 0 ||
      getsockname(listening.get(), pointer, &size) != 0) {
    return std::unexpected("cannot listen on 127.0.0.1");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return std::unexpected("cannot fork");
  if (pid > 0) return NullServer(pid, ntohs(address.sin_port));
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  AcceptForever(listening.get());
}

NullServer::NullServer(NullServer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), port_(other.port_) {}

NullServer::~NullServer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace nfswalk::bench
