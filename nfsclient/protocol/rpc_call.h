// rpc_call: one remote procedure call through an RpcChannel.
//
// Owned by the caller, usually on its stack: set the public settings, call RpcChannel::Submit() and
// Wait(). Between the two only the channel's I/O thread may access it. A finished call may be
// submitted again.
//
// Thread safety: none. Submit() and Wait() order all fields between the caller and the I/O thread.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_RPC_CALL_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_RPC_CALL_H_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "sunrpc_auth/auth_body.h"

struct rpc_context;

namespace nfswalk::protocol {

// libnfs' rpc_cb.
using ReplyCallback = void (*)(rpc_context*, int status, void* result, void* data);

enum class CallOutcome : uint32_t {
  kPending,
  kReplied,       // OnReply() has run
  kRejected,      // refused by the server's RPC layer, or malformed: see reject_reason()
  kNotEncodable,  // not sent: the arguments exceed libnfs' encode buffer
  kLost,          // the connection died while the call was in flight
  kTimedOut,      // the deadline passed; the server may have executed it if was_sent()
  kUnreachable,   // not sent: connecting failed and fail_if_unreachable is set
  kCanceled,      // the channel was shut down
};

// reject_stat and accept_stat (RFC 5531 9). libnfs does not distinguish the reasons of MSG_DENIED.
enum class RejectReason : uint8_t {
  kNone,
  kDenied,
  kProgramUnavailable,
  kVersionMismatch,
  kProcedureUnavailable,
  kGarbageArguments,
  kSystemError,
  kMalformedReply,
};

class RpcCall : public boost::intrusive::list_base_hook<> {
 public:
  using Clock = std::chrono::steady_clock;

  RpcCall() = default;
  virtual ~RpcCall() = default;
  RpcCall(const RpcCall&) = delete;
  RpcCall& operator=(const RpcCall&) = delete;

  // Settings, read by the I/O thread.
  Clock::time_point deadline = Clock::time_point::max();
  // Borrowed. nullptr: AUTH_NONE.
  const sunrpc_auth::AuthBody* auth = nullptr;
  // Ends in kUnreachable once an attempt to connect fails, instead of waiting for the next one.
  bool fail_if_unreachable = false;

  // Blocks until the call is finished.
  CallOutcome Wait() const {
    outcome_.wait(CallOutcome::kPending);
    return outcome_.load();
  }

  // Valid after Wait().
  bool was_sent() const { return was_sent_; }
  RejectReason reject_reason() const { return reject_reason_; }
  // errno of the failed connect(2), 0 if something else failed. Valid after kUnreachable.
  int connect_errno() const { return connect_errno_; }
  // libnfs' message. Valid after kRejected and kUnreachable.
  const std::string& failure_text() const { return failure_text_; }

 protected:
  // Encodes and queues the call with one of libnfs' rpc_*_async(rpc, callback, ..., data) and
  // returns its result (0: queued). Runs on the I/O thread.
  virtual int Issue(rpc_context* rpc, ReplyCallback callback, void* data) = 0;
  // Receives libnfs' result struct (nullptr: void), which is freed with all that it points to on
  // return. Runs on the I/O thread.
  virtual void OnReply(const void* result) noexcept = 0;

 private:
  friend class RpcChannel;

  void Begin(class RpcChannel* channel) {
    channel_ = channel;
    expired_ = was_sent_ = false;
    reject_reason_ = RejectReason::kNone;
    connect_errno_ = 0;
    failure_text_.clear();
    outcome_.store(CallOutcome::kPending);
  }
  // Publishes all fields to Wait(), whose caller may destroy the call as soon as the store is
  // visible: notify_all() then uses the address alone, without dereferencing it.
  void Complete(CallOutcome outcome) {
    outcome_.store(outcome);
    outcome_.notify_all();
  }

  class RpcChannel* channel_ = nullptr;
  bool expired_ = false;
  bool was_sent_ = false;
  RejectReason reject_reason_ = RejectReason::kNone;
  int connect_errno_ = 0;
  std::string failure_text_;
  std::atomic<CallOutcome> outcome_{CallOutcome::kPending};
};

// An RpcCall from two functions: int issue(rpc, callback, data) and void on_reply(const void*).
template <typename IssueFunction, typename ReplyFunction>
class CallOf final : public RpcCall {
 public:
  CallOf(IssueFunction issue, ReplyFunction on_reply)
      : issue_(std::move(issue)), on_reply_(std::move(on_reply)) {}

 private:
  int Issue(rpc_context* rpc, ReplyCallback callback, void* data) override {
    return issue_(rpc, callback, data);
  }
  void OnReply(const void* result) noexcept override { on_reply_(result); }

  IssueFunction issue_;
  ReplyFunction on_reply_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_RPC_CALL_H_
