// read_pieces: a large READ as several calls in flight at once.
//
// A Piece is one encoded call:
//   Piece(const Context&, uint64_t offset_bytes, Bytes part);  // may throw std::bad_alloc
//   const Request& request() const;
//   void Decode(XdrReader& results, Reply& reply) const;
//
// A piece whose reply is not what was asked for (an error, less data) is asked for once more by a
// call of its own, with all the retries and recoveries that such a call has.
//
// Thread safety: distinct reads.
#ifndef NFSWALK_NFSCLIENT_RPC_READ_PIECES_H_
#define NFSWALK_NFSCLIENT_RPC_READ_PIECES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <span>
#include <system_error>
#include <utility>

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

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_READ_PIECES_H_
