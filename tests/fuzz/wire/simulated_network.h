// simulated_network: sockets, clocks and threads of one thread, without a kernel: a client that
// runs over it does the same every time, and waits for nothing.
//
// While an object exists, for the thread that made it: each socket leads to the Server; the
// monotonic clocks pass by what is waited, and by 1 us for each time they are read; a thread runs
// when it is joined or detached, which takes a detached one no time; arc4random(3) counts. A
// wait without a deadline ends the process. All other calls, and other threads, have the kernel's.
//
// List simulated_network.cc in the program's srcs: what it replaces (socket(2), connect(2),
// poll(2), recv(2), sendmsg(2), getsockopt(2), shutdown(2), futex(2), clock_gettime(2),
// pthread_create(3), pthread_join(3), pthread_detach(3), pthread_cond_clockwait(3),
// arc4random(3)) has to precede that of libraries and sanitizers.
//
// Thread safety: one object at a time, used by its thread.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_SIMULATED_NETWORK_H_
#define NFSWALK_TESTS_FUZZ_WIRE_SIMULATED_NETWORK_H_

#include <pthread.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::fuzz {

class SimulatedNetwork {
 public:
  enum class Accepts { kYes, kRefuses, kNever };
  // Bytes that a server sends when a call has arrived, and how the stream goes on.
  struct Sent {
    std::string bytes = {};
    bool ends = false;     // the stream, behind them
    bool is_slow = false;  // from now on a byte arrives each second
  };
  class Server {
   public:
    virtual ~Server() = default;
    virtual Accepts Accept() = 0;
    // `message`: a call, of one fragment.
    virtual Sent Answer(std::string_view message) = 0;
  };
  // Bytes that one recv(2) returns, and that one sendmsg(2) takes, at most.
  struct Limits {
    size_t received = SIZE_MAX;
    size_t sent = SIZE_MAX;
  };

  SimulatedNetwork(Server& server, const Limits& limits);
  ~SimulatedNetwork();
  SimulatedNetwork(const SimulatedNetwork&) = delete;
  SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

  // Returns the network of the calling thread, or null.
  static SimulatedNetwork* Current();

  // Implement the replaced functions. They return what the kernel would, but errors are negative.
  int Socket();
  static bool Has(int fd);
  int Connect(int fd, const sockaddr& address);
  short Poll(int fd, short events, int timeout_ms);
  ssize_t Receive(int fd, void* into, size_t size, int flags);
  ssize_t Send(int fd, const msghdr& message);
  void Shutdown(int fd);
  uint64_t ReadClock();
  void Wait(uint64_t ns);
  void WaitUntil(uint64_t ns);
  uint32_t Random() { return random_ += 0x9e3779b9; }
  pthread_t CreateThread(void* (*start)(void*), void* argument);
  // `is_awaited`: the time that it takes passes for its creator, too.
  bool RunThread(pthread_t thread, bool is_awaited);

 private:
  struct Connection {
    bool is_connected = false;
    std::string call;     // what has arrived of a call, with its record mark
    std::string replies;  // what has not been received yet, from `taken` on
    size_t taken = 0;
    bool has_ended = false;
    bool is_slow = false;
    uint64_t next_ns = 0;  // when the next byte arrives, if it is slow
  };
  struct Thread {
    void* (*start)(void*);
    void* argument;
  };

  void TakeCalls(Connection& connection);
  // Waits for something to receive, or the end.
  bool Arrives(const Connection& connection, uint64_t wait_ns);

  Server& server_;
  const Limits limits_;
  std::vector<Connection> connections_;  // by fd, from kFirstFd on
  std::map<pthread_t, Thread> threads_;  // not run yet
  pthread_t last_thread_ = 0;
  uint64_t now_ns_;
  uint32_t random_ = 0;
};

}  // namespace nfswalk::fuzz

#endif  // NFSWALK_TESTS_FUZZ_WIRE_SIMULATED_NETWORK_H_
