#include "bench/measure/rpc_server.h"

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
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/measure/owned_fd.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kLastFragment = 0x80000000;
constexpr size_t kBufferBytes = 64 * 1024;

// RFC 5531 9, behind the xid: REPLY, MSG_ACCEPTED, an empty verifier, SUCCESS.
constexpr std::array<uint32_t, 5> kNullReply = {__builtin_bswap32(1)};

sockaddr_in LoopbackAddress(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool SendAll(int fd, std::string_view bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// Answers all calls of one recv(2) by one send(2). A call is one fragment.
void Serve(OwnedFd fd, const RpcServer::Answer& answer) {
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> calls(kBufferBytes);
  std::string replies;
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
      const std::string_view reply = answer({&calls[taken + sizeof head], bytes - sizeof head});
      if (reply.empty()) return;
      head[0] = htonl(kLastFragment | static_cast<uint32_t>(sizeof head[1] + reply.size()));
      replies.append(reinterpret_cast<const char*>(&head), sizeof head).append(reply);
      taken += bytes;
    }
    std::memmove(calls.data(), &calls[taken], filled - taken);
    filled -= taken;
    if (!replies.empty() && !SendAll(fd.get(), replies)) return;
  }
}

[[noreturn]] void AcceptForever(int listening,
                                const std::function<RpcServer::Answer()>& answer_of_connection) {
  for (;;) {
    std::thread([fd = OwnedFd(accept(listening, nullptr, nullptr)),
                 &answer_of_connection]() mutable {
      Serve(std::move(fd), answer_of_connection());
    }).detach();
  }
}

// The connection to the server that knows the answers. A thread's own.
class Upstream {
 public:
  explicit Upstream(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = LoopbackAddress(port);
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A failed connection makes the first call fail.
    (void)connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }

  // Sends a call and returns the reply, both without their xid. Empty if the connection is lost.
  std::string Ask(std::string_view call) const {
    const uint32_t bytes = static_cast<uint32_t>(sizeof(uint32_t) + call.size());
    const std::array<uint32_t, 2> head = {htonl(kLastFragment | bytes), 0};
    std::string record(reinterpret_cast<const char*>(head.data()), sizeof head);
    if (!SendAll(fd_.get(), record.append(call))) return {};
    std::string reply;
    for (uint32_t mark = 0; (mark & kLastFragment) == 0;) {
      if (!ReceiveAll(&mark, sizeof mark)) return {};
      mark = ntohl(mark);
      const size_t before = reply.size();
      reply.resize(before + (mark & ~kLastFragment));
      if (!ReceiveAll(&reply[before], reply.size() - before)) return {};
    }
    return reply.substr(sizeof(uint32_t));
  }

 private:
  bool ReceiveAll(void* into, size_t bytes) const {
    return recv(fd_.get(), into, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }

  const OwnedFd fd_;
};

// Holds the answers of all connections. An answer never moves.
struct Memory {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::string> answers;
};

std::string_view Recall(Memory& memory, const Upstream& upstream, const std::string& call) {
  {
    const std::shared_lock lock(memory.mutex);
    if (const auto known = memory.answers.find(call); known != memory.answers.end()) {
      return known->second;
    }
  }
  std::string answer = upstream.Ask(call);
  if (answer.empty()) return {};
  const std::unique_lock lock(memory.mutex);
  return memory.answers.emplace(call, std::move(answer)).first->second;
}

}  // namespace

RpcServer::Answer AnswerNull() {
  return [](std::string_view) {
    return std::string_view(reinterpret_cast<const char*>(kNullReply.data()), sizeof kNullReply);
  };
}

std::function<RpcServer::Answer()> AnswersFromMemory(uint16_t server_port) {
  return [server_port, memory = std::make_shared<Memory>()] {
    return [memory, upstream = std::make_shared<const Upstream>(server_port)](
               std::string_view call) { return Recall(*memory, *upstream, std::string(call)); };
  };
}

std::expected<RpcServer, std::string> RpcServer::Start(
    const std::function<Answer()>& answer_of_connection) {
  const OwnedFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = LoopbackAddress(0);
  socklen_t size = sizeof address;
  auto* const pointer = reinterpret_cast<sockaddr*>(&address);
  if (bind(listening.get(), pointer, size) != 0 || listen(listening.get(), SOMAXCONN) != 0 ||
      getsockname(listening.get(), pointer, &size) != 0) {
    return std::unexpected("cannot listen on 127.0.0.1");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return std::unexpected("cannot fork");
  if (pid > 0) return RpcServer(pid, ntohs(address.sin_port));
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  AcceptForever(listening.get(), answer_of_connection);
}

RpcServer::RpcServer(RpcServer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), port_(other.port_) {}

RpcServer& RpcServer::operator=(RpcServer&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(port_, other.port_);
  return *this;
}

RpcServer::~RpcServer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace nfswalk::bench
