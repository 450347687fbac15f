// rpc_channel: one TCP connection to one RPC program, with an I/O thread.
//
// The I/O thread alone calls libnfs. It uses one context at a time and destroys it at the first
// error (libnfs 4.0.0: its timeouts and reconnects corrupt data, and a context keeps half a reply
// after an error), so connecting, deadlines, back-off and backpressure are implemented here. Each
// Submit() sends a call at most once; retransmission: rpc_retry.h.
//
//   state        may hold                      left by
//   kIdle        no context, no calls          a call arrives -> Connect()
//   kConnecting  waiting calls                 NULL replied -> kUp; failure -> kBackingOff
//   kUp          waiting and in-flight calls   error, or an overdue call -> DropConnection()
//   kBackingOff  no context, waiting calls     the pause ends -> Connect()
//   (all)                                      Shutdown() -> kClosed, for good
//
// Back-off: 10 ms after a loss, doubled with each attempt up to 1 s, reset by a reply (not by an
// accepted connection, which the server may close at once). Deadlines: a call overdue in flight
// closes the connection, since a call on a TCP stream cannot be cancelled; the other calls on it
// end in kLost. A call overdue in the queue ends alone. Backpressure: at most kInFlightMax calls
// are passed to libnfs (about 4.3 KB each), the others wait. Calls are issued outside of
// rpc_service() only: libnfs aborts if one is queued while it purges others.
//
// Thread safety: all public functions. The I/O thread inherits the network namespace of the thread
// that called Open().
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
  std::string address;  // numeric
  uint16_t port = 0;
  uint32_t program = 0;
  uint32_t version = 0;
};

class RpcChannel {
 public:
  using Clock = RpcCall::Clock;
  static constexpr size_t kInFlightMax = 256;

  // Starts the I/O thread, which connects at the first call. `connect_timeout` bounds one attempt.
  // Errors: those of eventfd(2) and pthread_create(3).
  static std::expected<std::unique_ptr<RpcChannel>, std::errc> Open(
      RpcEndpoint endpoint, std::chrono::milliseconds connect_timeout);
  // Shuts down and joins the I/O thread. Preconditions: no Submit() is in progress.
  ~RpcChannel();
  RpcChannel(const RpcChannel&) = delete;
  RpcChannel& operator=(const RpcChannel&) = delete;

  // Queues `call`, which must live until its Wait() has returned. In the child of a fork(2) it ends
  // in kCanceled at once.
  void Submit(RpcCall& call);
  CallOutcome Execute(RpcCall& call) {
    Submit(call);
    return call.Wait();
  }

  // Ends all calls, later ones too, with kCanceled. Does not block; idempotent.
  void Shutdown();

  // Calls sent, including the NULL call of each connection.
  uint64_t calls_sent() const { return calls_sent_.load(); }
  // Connections opened, including the first.
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
  void TrackDeadline(const RpcCall& call);

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
  AUTH* auth_slot_ = nullptr;  // owned by context_; AUTH_NONE except while a call is encoded
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
