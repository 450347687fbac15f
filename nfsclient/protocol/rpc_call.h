// rpc_call: one remote procedure call on its way through an RpcChannel.
//
// The caller owns the object, usually on its stack: set the public settings, hand it to
// RpcChannel::Submit(), Wait(). Between the two it belongs to the channel's I/O thread; a finished
// call may be submitted again.
//
// Thread safety: none beyond that hand-over. Submit() and Wait() order all fields between the
// threads.
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
  kReplied,       // OnReply() was run with the result
  kRejected,      // the server refused the call itself: reject_reason() says why
  kNotEncodable,  // never sent: the arguments do not fit into libnfs' encode buffer
  kLost,          // the connection died while the call was on it
  kTimedOut,      // the deadline passed; was_sent() tells whether the server may have seen it
  kUnreachable,   // never sent: no connection, and the call was not willing to wait for one
  kCanceled,      // the channel was shut down
};

// RFC 5531 9: why a call was not executed. libnfs tells MSG_DENIED's reasons not apart.
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
  // Not owned; nullptr sends AUTH_NONE.
  const sunrpc_auth::AuthBody* auth = nullptr;
  // Ends in kUnreachable as soon as an attempt to connect fails, instead of waiting for the next
  // one.
  bool fail_if_unreachable = false;

  // Blocks until the call is finished.
  CallOutcome Wait() const {
    outcome_.wait(CallOutcome::kPending);
    return outcome_.load();
  }

  // Valid after Wait().
  bool was_sent() const { return was_sent_; }
  RejectReason reject_reason() const { return reject_reason_; }
  // errno of the failed connect(2), 0 if it was not that. Valid after kUnreachable.
  int connect_errno() const { return connect_errno_; }
  // libnfs' words for kRejected and kUnreachable.
  const std::string& failure_text() const { return failure_text_; }

 protected:
  // Encodes and queues the call with one of libnfs' rpc_*_async(rpc, callback, ..., data) and
  // returns its value (0: queued). On the I/O thread.
  virtual int Issue(rpc_context* rpc, ReplyCallback callback, void* data) = 0;
  // `result` is libnfs' result struct, nullptr for a void procedure; it and all that it points to
  // die when this returns. On the I/O thread.
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
  // The waiter may destroy the call as soon as the store is visible: nothing is touched after it
  // but the address, which the futex behind notify_all() does not follow.
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

// An RpcCall made of two functions: issue(rpc, callback, data) -> int and on_reply(const void*
// result).
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
