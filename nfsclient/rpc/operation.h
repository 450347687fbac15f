// operation: a call with its recoveries, which its caller waits for, or which is in flight while it
// does something else.
//
// An Operation encodes calls, one after the other:
//   std::errc Encode();               // the next one; an error ends the operation. May throw
//                                     // std::bad_alloc
//   const Request& request() const;   // of the last Encode()
//   void Decode(XdrReader& results, Reply& reply);
//   bool CanRecover() const;          // after a reply with an error
//   std::errc Recover(Budget&);       // errc{}: to be encoded again. An error ends the operation
//
// Thread safety: distinct operations.
#ifndef NFSWALK_NFSCLIENT_RPC_OPERATION_H_
#define NFSWALK_NFSCLIENT_RPC_OPERATION_H_

#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/cancellation.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/caller.h"
#include "nfsclient/rpc/internal_errors.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::rpc {

// An operation that is the same call each time.
template <typename Piece>
class PieceOperation {
 public:
  template <typename... Arguments>
  explicit PieceOperation(Arguments&&... arguments)
      : piece_(std::forward<Arguments>(arguments)...) {}

  std::errc Encode() { return {}; }
  const Request& request() const { return piece_.request(); }
  template <typename Reply>
  void Decode(XdrReader& in, Reply& reply) const {
    piece_.Decode(in, reply);
  }
  bool CanRecover() const { return false; }
  std::errc Recover(Caller::Budget&) { return {}; }

 private:
  const Piece piece_;
};

// Executes an operation, with its recoveries.
template <typename Reply, typename Operation>
Reply CallOperation(Caller& caller, const sunrpc_auth::Credential& credential,
                    Operation& operation) {
  Caller::Budget budget = caller.NewBudget();
  for (;;) {
    std::errc error = operation.Encode();
    if (error != std::errc{}) return protocol::Failure<Reply>(error);
    Reply reply =
        caller.Call<Reply>(credential, budget, operation.request(),
                           [&](XdrReader& in, Reply& decoded) { operation.Decode(in, decoded); });
    if (reply.error == std::errc{} || !operation.CanRecover()) return reply;
    error = operation.Recover(budget);
    if (error != std::errc{}) return protocol::Failure<Reply>(error);
  }
}

// An operation that was sent, as Protocol::StartRead() and the others return it. Its destructor
// ends a call that is in flight: waits for the reply as long as the thread's CallDeadline allows,
// then withdraws it, so that nothing is received into the memory of a READ any more. The server may
// still execute that.
template <typename Operation, typename Reply>
class StartedOperation final : public protocol::InFlight<Reply> {
 public:
  // Throws std::bad_alloc.
  template <typename... Arguments>
  StartedOperation(Caller& caller, const sunrpc_auth::Credential& credential,
                   Arguments&&... arguments)
      : caller_(caller),
        credential_(credential),
        operation_(std::forward<Arguments>(arguments)...),
        error_(Start()) {}
  ~StartedOperation() override {
    if (call_) caller_.End(*call_, budget_ ? *budget_ : caller_.NewBudgetOfCall());
  }

  std::optional<Reply> Finish() override {
    if (!budget_) budget_ = caller_.NewBudgetOfCall();
    while (error_ == std::errc{}) {
      if (call_) {
        std::optional<Reply> reply = AwaitReply();
        if (!reply) return std::nullopt;
        call_.reset();
        repeats_after_pause_ = reply->error == protocol::kJukebox;
        const bool repeats =
            repeats_after_pause_ || (reply->error != std::errc{} && operation_.CanRecover());
        if (!repeats) return reply;
      }
      const std::optional<std::errc> error = StartAgain();
      if (!error) return std::nullopt;
      error_ = *error;
    }
    return protocol::Failure<Reply>(error_);
  }

 private:
  // Preconditions: no call.
  std::errc Start() {
    const std::errc error = operation_.Encode();
    if (error != std::errc{}) return error;
    call_.emplace(operation_.request());
    call_->call.outlives_wait = true;
    caller_.Start(*call_, credential_);
    caller_.SendNow(*call_);
    return {};
  }
  std::optional<Reply> AwaitReply() {
    return caller_.Resume<Reply>(
        *call_, *budget_, [this](XdrReader& in, Reply& reply) { operation_.Decode(in, reply); });
  }
  // Starts it once more, after the pause or the recovery that it needs. nullopt: the thread's time
  // ended first. Preconditions: no call.
  std::optional<std::errc> StartAgain() try {
    const std::optional<std::errc> error =
        repeats_after_pause_ ? caller_.ResumePause(*budget_) : Recover();
    return error == std::errc{} ? Start() : error;
  } catch (const std::bad_alloc&) {
    return std::errc::not_enough_memory;
  }
  std::optional<std::errc> Recover() {
    using protocol::CallDeadline;
    Caller::Budget budget = budget_->OfThisWait();
    const std::errc error = operation_.Recover(budget);
    const bool is_of_thread =
        (error == std::errc::timed_out && CallDeadline::Current() < budget_->deadline()) ||
        (error == std::errc::operation_canceled && protocol::Cancellation::IsCanceled());
    return is_of_thread ? std::nullopt : std::optional(error);
  }

  Caller& caller_;
  const sunrpc_auth::Credential& credential_;
  Operation operation_;
  std::optional<Caller::Budget> budget_;  // from the first Finish() on
  std::optional<Caller::Started> call_;   // none: to be started again
  bool repeats_after_pause_ = false;      // else after a recovery
  std::errc error_;                       // that it ends in, without a call
};

template <typename Operation, typename Reply, typename... Arguments>
std::unique_ptr<protocol::InFlight<Reply>> StartOperation(Caller& caller,
                                                          const sunrpc_auth::Credential& credential,
                                                          Arguments&&... arguments) {
  return std::make_unique<StartedOperation<Operation, Reply>>(
      caller, credential, std::forward<Arguments>(arguments)...);
}

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_OPERATION_H_
