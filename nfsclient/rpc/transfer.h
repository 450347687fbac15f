// transfer: operations that are in flight while their caller does something else, several at once.
//
// A Piece is one encoded call:
//   Piece(const Context&, uint64_t offset_bytes, Bytes part);  // may throw std::bad_alloc
//   const Request& request() const;
//   void Decode(XdrReader& results, Reply& reply) const;
//
// An Operation encodes calls, one after the other:
//   std::errc Encode();               // the next one; an error ends the operation. May throw
//                                     // std::bad_alloc
//   const Request& request() const;   // of the last Encode()
//   void Decode(XdrReader& results, Reply& reply);
//   bool CanRecover() const;          // after a reply with an error
//   std::errc Recover(Budget&);       // errc{}: to be encoded again. An error ends the operation
//
// A piece of ReadPieces() whose reply is not what was asked for (an error, less data) is asked for
// once more by a call of its own, with all the retries and recoveries that such a call has.
//
// Thread safety: distinct transfers.
#ifndef NFSWALK_NFSCLIENT_RPC_TRANSFER_H_
#define NFSWALK_NFSCLIENT_RPC_TRANSFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
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

// Pieces of one transfer in flight. With pieces of 1 MiB they keep 1 GB/s busy at 16 ms.
inline constexpr size_t kPiecesMax = 16;

// The pieces of a transfer, begun and finished in their order.
template <typename Piece, typename Bytes, typename Reply>
class PiecesInFlight {
 public:
  PiecesInFlight(Caller& caller, const sunrpc_auth::Credential& credential,
                 const typename Piece::Context& context, uint64_t offset_bytes, Bytes bytes,
                 size_t piece_bytes)
      : caller_(caller),
        credential_(credential),
        context_(context),
        offset_bytes_(offset_bytes),
        bytes_(bytes),
        piece_bytes_(piece_bytes) {}
  // Waits for all: they borrow the caller's memory.
  ~PiecesInFlight() {
    while (!slots_.empty()) (void)Finish();
  }
  PiecesInFlight(const PiecesInFlight&) = delete;
  PiecesInFlight& operator=(const PiecesInFlight&) = delete;

  // Begins as many as may be in flight. Returns whether one is: not without memory.
  bool StartMore() try {
    while (slots_.size() < kPiecesMax && begun_bytes_ < bytes_.size()) {
      const Bytes part = Part(begun_bytes_);
      Slot& slot = slots_.emplace_back(context_, offset_bytes_ + begun_bytes_, part);
      caller_.Start(slot.started, credential_);
      begun_bytes_ += part.size();
    }
    return !slots_.empty();
  } catch (const std::bad_alloc&) {
    return !slots_.empty();
  }
  // The piece that begins `done_bytes` from the first.
  Bytes Part(size_t done_bytes) const {
    return bytes_.subspan(done_bytes, std::min(piece_bytes_, bytes_.size() - done_bytes));
  }
  // Waits for the oldest.
  Reply Finish() {
    Slot& slot = slots_.front();
    const auto decode = [&](XdrReader& in, Reply& reply) { slot.piece.Decode(in, reply); };
    Reply reply = caller_.Finish<Reply>(slot.started, decode);
    slots_.pop_front();
    return reply;
  }

 private:
  struct Slot {
    Slot(const typename Piece::Context& context, uint64_t offset_bytes, Bytes part)
        : piece(context, offset_bytes, part), started(piece.request()) {}

    const Piece piece;
    Caller::Started started;
  };

  Caller& caller_;
  const sunrpc_auth::Credential& credential_;
  const typename Piece::Context& context_;
  const uint64_t offset_bytes_;
  const Bytes bytes_;
  const size_t piece_bytes_;
  size_t begun_bytes_ = 0;
  std::deque<Slot> slots_;
};

// As Protocol::ReadPieces(). `read_one(offset_bytes, part)` is Protocol::Read().
template <typename Piece, typename ReadOne>
protocol::ReadReply ReadPieces(Caller& caller, const sunrpc_auth::Credential& credential,
                               const typename Piece::Context& context, uint64_t offset_bytes,
                               std::span<std::byte> into, size_t piece_bytes, ReadOne read_one) {
  using protocol::ReadReply;
  PiecesInFlight<Piece, std::span<std::byte>, ReadReply> pieces(caller, credential, context,
                                                                offset_bytes, into, piece_bytes);
  ReadReply all;
  while (all.error == std::errc{} && !all.eof && all.count_bytes < into.size()) {
    const size_t done = all.count_bytes;
    const std::span<std::byte> part = pieces.Part(done);
    auto reply = protocol::Failure<ReadReply>(std::errc::not_enough_memory);
    if (pieces.StartMore()) reply = pieces.Finish();
    if (reply.error != std::errc{}) reply = read_one(offset_bytes + done, part);
    while (reply.error == std::errc{} && !reply.eof && reply.count_bytes < part.size()) {
      const size_t came = reply.count_bytes;
      reply = read_one(offset_bytes + done + came, part.subspan(came));
      reply.count_bytes += came;
    }
    all = std::move(reply);
    all.count_bytes += done;
  }
  return all;
}

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
    Reply reply = caller.Call<Reply>(
        credential, budget, operation.request(),
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
    return caller_.Resume<Reply>(*call_, *budget_, [this](XdrReader& in, Reply& reply) {
      operation_.Decode(in, reply);
    });
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
  std::optional<Caller::Budget> budget_;   // from the first Finish() on
  std::optional<Caller::Started> call_;    // none: to be started again
  bool repeats_after_pause_ = false;       // else after a recovery
  std::errc error_;                        // that it ends in, without a call
};

template <typename Operation, typename Reply, typename... Arguments>
std::unique_ptr<protocol::InFlight<Reply>> StartOperation(
    Caller& caller, const sunrpc_auth::Credential& credential, Arguments&&... arguments) {
  return std::make_unique<StartedOperation<Operation, Reply>>(
      caller, credential, std::forward<Arguments>(arguments)...);
}

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_TRANSFER_H_
