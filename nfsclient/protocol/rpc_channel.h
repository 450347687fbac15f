// rpc_channel: one TCP connection to one RPC program, kept alive by one I/O thread.
//
// Submit() from any thread; the I/O thread alone touches libnfs. One libnfs context lives at a time
// and none outlives an error (libnfs 4.0.0: its timeouts and reconnects corrupt data,
// and a context that saw an error keeps half a reply). So connecting, deadlines, back-off and
// backpressure are here. A call is put on the wire at most once per Submit(): sending again is
// rpc_retry's decision.
//
//   state        may hold                      left by
//   kIdle        no context, no calls          a call arrives -> Connect()
//   kConnecting  waiting calls                 TCP and NULL answered -> kUp; failure -> kBackingOff
//   kUp          waiting and in-flight calls   error, or an overdue call -> DropConnection()
//   kBackingOff  no context, waiting calls     the pause ends -> Connect()
//   (all)                                      Shutdown() -> kClosed, for good
//
// Back-off: 10 ms after a loss, doubled up to 1 s with each attempt, back to 10 ms once a call has
// been answered (not when the connection opens: a server that accepts and then hangs up must not be
// hammered). Deadlines: a call that passes its own while in flight takes the connection down, since
// a TCP stream cannot forget it; its neighbours end in kLost. A call that passes it in the queue
// just ends. Backpressure: at most kInFlightMax calls are given to libnfs (about 4.3 KB each); more
// wait here. Calls are issued only outside rpc_service(): libnfs aborts if one is queued while it
// purges others.
//
// Thread safety: all public functions. The threads that the channel starts inherit the network
// namespace of the thread that called Open().
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_RPC_CHANNEL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_RPC_CHANNEL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "nfsclient/protocol/rpc_call.h"

struct AUTH;

namespace nfswalk::protocol {

struct RpcEndpoint {
  std::string address;  // numeric: nothing is resolved here
  uint16_t port = 0;
  uint32_t program = 0;
  uint32_t version = 0;
};

class RpcChannel {
 public:
  using Clock = RpcCall::Clock;
  static constexpr size_t kInFlightMax = 256;

  // Starts the I/O thread; connects when the first call comes. `connect_timeout` bounds one
  // attempt. Errors: those of eventfd(2) and pthread_create(3).
  static std::expected<std::unique_ptr<RpcChannel>, std::errc> Open(
      RpcEndpoint endpoint, std::chrono::milliseconds connect_timeout);
  // Shuts down and joins. Preconditions: nobody is inside Submit().
  ~RpcChannel();
  RpcChannel(const RpcChannel&) = delete;
  RpcChannel& operator=(const RpcChannel&) = delete;

  // The call must stay alive until its Wait() returned.
  void Submit(RpcCall& call);
  CallOutcome Execute(RpcCall& call) {
    Submit(call);
    return call.Wait();
  }

  // Ends every call with kCanceled, those to come too. Does not block; idempotent.
  void Shutdown();

  // Calls put on the wire, the NULL call of each connection included.
  uint64_t calls_sent() const { return calls_sent_.load(); }
  // Connections opened, the first included.
  uint64_t connections_opened() const { return connections_opened_.load(); }

 private:
  enum class State : uint8_t { kIdle, kConnecting, kUp, kBackingOff, kClosed };
  using CallList = boost::intrusive::list<RpcCall>;

  RpcChannel(RpcEndpoint endpoint, std::chrono::milliseconds connect_timeout, int wake_fd);

  static void OnReplyCallback(rpc_context* rpc, int status, void* result, void* data);
  static void OnConnectCallback(rpc_context* rpc, int status, void* result, void* data);

  // All below: I/O thread only.
  void Run();
  bool TakeSubmitted();
  void Connect();
  void PollAndService();
  int PollTimeoutMs() const;
  void Service(int events);
  bool IssueWaiting();
  void Issue(RpcCall& call);
  void OnReply(RpcCall& call, int status, const void* result);
  void ConnectionFailed();
  void DropConnection();
  void BackOff();
  void FailFastCalls();
  void ExpireOverdue(Clock::time_point now);
  void NoteDeadline(const RpcCall& call);

  const RpcEndpoint endpoint_;
  const std::chrono::milliseconds connect_timeout_;
  const int wake_fd_;

  std::mutex mutex_;
  CallList submitted_;    // guarded by mutex_
  bool closing_ = false;  // guarded by mutex_

  std::atomic<uint64_t> calls_sent_{0};
  std::atomic<uint64_t> connections_opened_{0};

  // All below: I/O thread only.
  State state_ = State::kIdle;
  rpc_context* context_ = nullptr;
  AUTH* auth_slot_ = nullptr;  // owned by context_; empty except while a call is being encoded
  bool connect_failed_ = false;
  bool dropping_ = false;
  int connect_errno_ = 0;
  std::string connect_error_;
  std::chrono::milliseconds backoff_;
  Clock::time_point next_attempt_;
  Clock::time_point connect_deadline_;
  Clock::time_point earliest_deadline_ = Clock::time_point::max();  // a lower bound
  CallList waiting_;
  CallList in_flight_;

  std::thread thread_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_RPC_CHANNEL_H_
