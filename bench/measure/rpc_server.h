// null_server: a process that answers NULL calls over TCP and does nothing else, so that what a
// client costs is not lost in what a file server costs.
//
// Thread safety: none.
#ifndef NFSWALK_BENCH_RPC_NULL_SERVER_H_
#define NFSWALK_BENCH_RPC_NULL_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>

namespace nfswalk::bench {

class NullServer {
 public:
  // Forks; the child ends with this object, and with this process. Serves 127.0.0.1, any program,
  // a thread a connection. Preconditions: this process has one thread.
  static std::expected<NullServer, std::string> Start();
  NullServer(NullServer&& other) noexcept;
  NullServer& operator=(NullServer&&) = delete;
  ~NullServer();

  pid_t pid() const { return pid_; }
  uint16_t port() const { return port_; }

 private:
  NullServer(pid_t pid, uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_;
  uint16_t port_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_RPC_NULL_SERVER_H_
