// call: one remote procedure call (RFC 5531) through a Connection.
//
// Owned by the caller, usually on its stack, with the request that it borrows. Between
// Connection::Submit() and its end, by Wait() or Withdraw(), only the connection accesses it. One
// that was lost or timed out may be submitted again: it keeps its xid, by which a server recognises
// it.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_RPC_CALL_H_
#define NFSWALK_NFSCLIENT_RPC_CALL_H_

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nfsclient/rpc/reply_buffer.h"
#include "nfsclient/rpc/request.h"
#include "nfsclient/rpc/session_slots.h"
#include "nfsclient/rpc/xdr_reader.h"
#include "sunrpc_auth/auth_body.h"

namespace nfswalk::rpc {

enum class Outcome : uint8_t {
  kPending,   // of outlives_wait only: in flight still
  kReplied,   // executed: see results()
  kRejected,  // refused by the server's RPC layer, or malformed: see reject_reason()
  kLost,      // the connection ended while the call was in flight
  kTimedOut,  // the deadline passed, or its thread was canceled; the server may have executed it if
              // was_sent()
  kUnreachable,  // not sent: connecting failed and fail_if_unreachable is set
  kCanceled,     // the connection was shut down
  kNoMemory,     // the reply could not be received for want of memory
  kNoSlot,       // not sent (again): the connection has no slot of the session, others have
};

// reject_stat, auth_stat and accept_stat (RFC 5531 9).
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

class Call {
 public:
  using Clock = std::chrono::steady_clock;

  // Borrows `request` and what it borrows, until the call has ended.
  explicit Call(const Request& request) : request_(request) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Settings.
  Clock::time_point deadline = Clock::time_point::max();
  // Borrowed. nullptr: AUTH_NONE.
  const sunrpc_auth::AuthBody* auth = nullptr;
  // Ends in kUnreachable once an attempt to connect fails, instead of waiting for the next one.
  bool fail_if_unreachable = false;
  // Ends in kCanceled while its connection has no session that it could be sent in, instead of
  // waiting for one.
  bool ends_with_session = false;
  // Borrowed. Asked before the call is sent over another connection than before, or in another
  // session; false ends it instead. nullptr: it is sent.
  const std::function<bool()>* may_repeat = nullptr;
  // Wait() leaves the call in flight when it ends before the reply, if it was sent.
  bool outlives_wait = false;

  // Valid after its end.
  // The server executes it still, by an earlier transmission: to be submitted again, as it is.
  bool is_executing() const { return is_executing_; }
  bool was_sent() const { return was_sent_; }
  RejectReason reject_reason() const { return reject_reason_; }
  // The reply is that of the one execution, however often the call was sent.
  bool was_executed_once() const { return was_executed_once_; }
  // No reply tells whether an earlier transmission was executed: its session has ended, or its
  // reply was not kept.
  bool outlived_session() const { return outlived_session_; }
  // errno of the failed connect(2). Valid after kUnreachable.
  int connect_errno() const { return connect_errno_; }
  // The results of the procedure. Valid after kReplied, until the call is destroyed or submitted.
  XdrReader results() const { return XdrReader(results_, placed_at_, placed_bytes_); }

 private:
  friend class Connection;

  // How much of it is in the socket.
  enum class Transmission : uint8_t {
    kNone,     // in no list of the connection
    kQueued,   // nothing was sent
    kSending,  // in a sendmsg(2) right now, which reads it
    kPartial,  // the connection ends if the rest does not follow
    kSent,     // in flight
  };
  // Values of `wake_`.
  static constexpr uint32_t kAsleep = 0;
  static constexpr uint32_t kDrive = 1;  // woken to receive for all
  static constexpr uint32_t kDone = 2;

  // Message type, RPC version, program, version, procedure, credential and verifier at their
  // longest, behind record mark and xid; the head of a COMPOUND.
  static constexpr size_t kHeaderBytesMax =
      4 + 4 + 5 * 4 + 8 + sunrpc_auth::kAuthBodyBytesMax + 8 + kCompoundHeadBytesMax;

  // All below: guarded by the connection's mutex until it is done.
  boost::intrusive::list_member_hook<> transmission_hook_;
  boost::intrusive::list_member_hook<> waiter_hook_;
  const Request& request_;
  uint32_t xid_ = 0;  // 0: none yet
  Transmission transmission_ = Transmission::kNone;
  Outcome outcome_ = Outcome::kPending;
  bool sleeps_ = false;
  bool is_cancelable_ = false;  // Connection::Cancel() may come
  bool canceled_ = false;
  bool given_up_ = false;  // ends behind the recv(2) into its memory
  bool was_sent_ = false;
  Outcome early_outcome_ = Outcome::kPending;  // of a reply that came in kSending
  RejectReason reject_reason_ = RejectReason::kNone;
  int connect_errno_ = 0;
  Clock::time_point sent_at_{};
  uint32_t generation_ = 0;  // of the connection that it was sent on
  ReplySlice reply_;         // the record
  std::span<const std::byte> results_;
  // The data, received where it goes: not in the record, behind `placed_at_` in it.
  const std::byte* placed_at_ = nullptr;
  size_t placed_bytes_ = 0;
  size_t header_bytes_ = 0;
  std::array<std::byte, kHeaderBytesMax> header_;
  std::optional<SessionSlots::Taken> slot_;  // from its first transmission to its reply, or its end
  bool slot_was_sent_ = false;
  bool slot_was_resent_ = false;  // it may have been executed before
  bool is_executing_ = false;
  bool outlived_session_ = false;
  bool was_executed_once_ = false;
  std::atomic<uint32_t> wake_{kAsleep};
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_CALL_H_
