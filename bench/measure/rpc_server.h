// rpc_server: a process that answers RPC calls over TCP from memory, so that what a client costs is
// not lost in what a file server costs.
//
// Thread safety: none.
#ifndef NFSWALK_BENCH_MEASURE_RPC_SERVER_H_
#define NFSWALK_BENCH_MEASURE_RPC_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace nfswalk::bench {

class RpcServer {
 public:
  // Returns what follows the xid of the reply to a call, which is given from behind its xid; empty:
  // the connection ends. Valid until the next call.
  using Answer = std::function<std::string_view(std::string_view call)>;

  // Forks; the child ends with this object, and with this process. Serves 127.0.0.1, a thread a
  // connection; calls `answer_of_connection` in each. Preconditions: no other thread of this
  // process holds a lock that the answers need.
  static std::expected<RpcServer, std::string> Start(
      const std::function<Answer()>& answer_of_connection);
  RpcServer(RpcServer&& other) noexcept;
  RpcServer& operator=(RpcServer&& other) noexcept;
  ~RpcServer();

  pid_t pid() const { return pid_; }
  uint16_t port() const { return port_; }

 private:
  RpcServer(pid_t pid, uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_;
  uint16_t port_;
};

// Answers any call with success and no results, as NULL has them.
RpcServer::Answer AnswerNull();
// Answers what it has been asked before, on any connection, from memory; asks the server on
// `server_port` of 127.0.0.1 for the rest. To be made once, before the fork.
std::function<RpcServer::Answer()> AnswersFromMemory(uint16_t server_port);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_RPC_SERVER_H_
