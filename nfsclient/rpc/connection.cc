#include "nfsclient/rpc/connection.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "nfsclient/protocol/cancellation.h"
#include "nfsclient/rpc/reply_header.h"
#include "rcu/fork.h"
#include "rcu/futex.h"
#include "rcu/sync_point.h"

namespace nfswalk::rpc {
namespace {

// RFC 5531 9.
constexpr uint32_t kCallMessage = 0;
constexpr uint32_t kRpcVersion = 2;
constexpr uint32_t kAuthNone = 0;
constexpr uint32_t kAuthSys = 1;
constexpr uint32_t kLastFragment = 0x80000000;

// Appends to a call's header, whose size is bounded by the credential's.
class HeaderWriter {
 public:
  explicit HeaderWriter(std::byte* at) : begin_(at), at_(at) {}

  void U32(uint32_t value) {
    const uint32_t wire = htonl(value);
    std::memcpy(at_, &wire, sizeof wire);
    at_ += sizeof wire;
  }
  // Preconditions: `size` is a multiple of four.
  void Opaque(const char* bytes, uint32_t size) {
    U32(size);
    if (size != 0) std::memcpy(at_, bytes, size);  // AUTH_NONE has no bytes
    at_ += size;
  }
  void Skip(size_t bytes) { at_ += bytes; }
  size_t size() const { return static_cast<size_t>(at_ - begin_); }

 private:
  std::byte* const begin_;
  std::byte* at_;
};

size_t Padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

std::expected<std::unique_ptr<Connection>, std::errc> Connection::Open(
    const Endpoint& endpoint, const Timeouts& timeouts, std::shared_ptr<ServerLocator> locator) {
  std::unique_ptr<Connection> connection(new Connection(endpoint, timeouts, std::move(locator)));
  const std::errc error =
      connection->socket_.Create(endpoint.address, endpoint.port, timeouts.silence);
  if (error != std::errc{}) return std::unexpected(error);
  return connection;
}

Connection::Connection(const Endpoint& endpoint, const Timeouts& timeouts,
                       std::shared_ptr<ServerLocator> locator)
    : endpoint_(endpoint),
      timeouts_(timeouts),
      locator_(std::move(locator)),
      next_xid_(arc4random()),
      jitter_(next_xid_) {}

void Connection::EncodeHeader(Call& call) {
  const Request& request = call.request_;
  HeaderWriter header(call.header_.data());
  header.U32(0);  // the record mark follows below
  header.U32(call.xid_);
  const Request::Program program =
      request.program.value_or(Request::Program{endpoint_.program, endpoint_.version});
  for (const uint32_t word :
       {kCallMessage, kRpcVersion, program.number, program.version, request.procedure}) {
    header.U32(word);
  }
  const bool is_sys = call.auth != nullptr && call.auth->flavor == sunrpc_auth::Flavor::kSys;
  header.U32(is_sys ? kAuthSys : kAuthNone);
  header.Opaque(is_sys ? call.auth->bytes.data() : nullptr, is_sys ? call.auth->size : 0);
  header.U32(kAuthNone);  // the verifier
  header.Opaque(nullptr, 0);
  if (request.operations) {
    const bool in_session = IsInSession(request);
    header.Opaque(nullptr, 0);  // the tag
    header.U32(minor_version_);
    header.U32(*request.operations + (in_session ? 1 : 0));
    if (in_session) header.Skip(kSequenceBytes);  // TakeSlot()
  }
  call.header_bytes_ = header.size();
  const size_t bytes = header.size() - sizeof(uint32_t) + request.arguments.size() +
                       Padded(request.data.size()) + request.tail.size();
  HeaderWriter(call.header_.data()).U32(kLastFragment | static_cast<uint32_t>(bytes));
}

void Connection::Submit(Call& call) {
  call.outcome_ = Outcome::kPending;
  call.early_outcome_ = Outcome::kPending;
  call.was_sent_ = call.sleeps_ = call.is_cancelable_ = call.canceled_ = false;
  call.given_up_ = call.is_executing_ = false;
  call.reject_reason_ = RejectReason::kNone;
  call.connect_errno_ = 0;
  call.reply_ = {};
  call.placed_bytes_ = 0;
  call.wake_.store(Call::kAsleep);
  Outcome outcome = Outcome::kCanceled;
  // After fork() the child has no driver, and the mutex's owner may not exist in it.
  if (!rcu::InForkedChild()) {
    const Lock lock(mutex_);
    const bool ends = call.ends_with_session && NeedsSlot(call) && !slots_.is_open();
    const Outcome without_slot = EndWithoutSlot(call);
    if (state_ != State::kClosed && without_slot != Outcome::kPending) {
      outcome = without_slot;
    } else if (state_ != State::kClosed && !ends) {
      if (call.xid_ == 0) {
        do call.xid_ = next_xid_++;
        while (call.xid_ == 0);
        EncodeHeader(call);
      }
      Queue(call);
      if (IsPlaceable(call.request_)) ++placeable_;
      load_.fetch_add(1);
      return;
    }
  }
  call.outcome_ = outcome;
  call.wake_.store(Call::kDone);
}

bool Connection::IsInSession(const Request& request) const {
  return minor_version_ != 0 && request.operations && request.in_session;
}

// A call that is sent in part goes on as it began, whatever has become of its session.
bool Connection::NeedsSlot(const Call& call) const {
  if (!IsInSession(call.request_) || call.transmission_ == Call::Transmission::kPartial) {
    return false;
  }
  return !(call.slot_ && slots_.Has(*call.slot_));
}

// Ahead of the calls that wait for a slot, unless it needs one itself that is not reserved.
void Connection::Queue(Call& call) {
  call.transmission_ = Call::Transmission::kQueued;
  auto at = queue_.end();
  if (minor_version_ != 0 && (!NeedsSlot(call) || call.ends_with_session)) {
    at = std::ranges::find_if(
        queue_, [this](const Call& other) { return NeedsSlot(other) && !other.ends_with_session; });
  }
  queue_.insert(at, call);
}

// Gives the call a slot of the present session. Returns false if it has ended instead: it was sent
// in an earlier one, and must not be executed twice.
bool Connection::TakeSlot(Call& call) {
  if (!NeedsSlot(call)) return true;
  const bool was_sent = std::exchange(call.slot_was_sent_, false);
  call.slot_was_resent_ = false;
  call.outlived_session_ |= was_sent;
  call.slot_.reset();
  if (was_sent && call.request_.is_cached) {
    Complete(call, Outcome::kLost);
    return false;
  }
  call.slot_ = slots_.Take(call.xid_);
  slots_.Encode(
      *call.slot_, call.request_.is_cached,
      std::span(call.header_).subspan(call.header_bytes_ - kSequenceBytes, kSequenceBytes));
  return true;
}

// Takes what the reply says of the slot. Returns false if it is the reply to another call.
bool Connection::TakeSequence(Call& call) {
  const SessionSlots::Taken taken = *call.slot_;
  const bool was_resent = call.slot_was_resent_;
  XdrReader reply(call.reply_.bytes());
  reply.Skip(2 * sizeof(uint32_t));  // xid and message type
  std::optional<SequenceResult> result;
  const bool is_rejected = ReadReplyHeader(reply) != RejectReason::kNone;
  if (!is_rejected) {
    SkipCompoundHead(reply);
    result = ReadSequence(reply);
  }
  call.is_executing_ = was_resent && call.request_.is_cached && slots_.Has(taken) && result &&
                       result->status == SequenceResult::kDelay;
  if (call.is_executing_) return true;  // keeps its slot
  const bool is_own = !result || SessionSlots::IsOf(taken, *result);
  if (!is_own) result.reset();
  call.slot_.reset();
  call.slot_was_sent_ = call.slot_was_resent_ = false;
  if (is_rejected) {
    slots_.Leave(taken, was_resent);
  } else {
    slots_.Answer(taken, result, was_resent);
  }
  const bool is_ok = result && result->status == SequenceResult::kOk;
  call.was_executed_once_ = is_ok && !call.outlived_session_;
  const bool is_unknown =
      result && (result->status == kRetryUncachedRep || result->status == kSeqFalseRetry);
  call.outlived_session_ |= is_unknown || (was_resent && !is_ok) || !slots_.Has(taken);
  EndWithSession();
  return is_own;
}

// Ends the queued calls that do not wait for a session.
void Connection::EndWithSession() {
  if (slots_.is_open()) return;
  CompleteAll(queue_, [this](const Call& call) {
    return call.ends_with_session && NeedsSlot(call) ? Outcome::kCanceled : Outcome::kPending;
  });
}

// Returns how a call ends that needs a slot where there is none, kPending for others. The
// connection that sends it numbers it anew.
Outcome Connection::EndWithoutSlot(Call& call) {
  if (!has_no_slot_ || !NeedsSlot(call)) return Outcome::kPending;
  call.xid_ = 0;
  call.generation_ = 0;
  return Outcome::kNoSlot;
}

void Connection::SetMinorVersion(uint32_t minor_version) {
  const Lock lock(mutex_);
  minor_version_ = minor_version;
}

void Connection::UseSession(std::shared_ptr<const Session> session, uint32_t first,
                            uint32_t stride) {
  const Lock lock(mutex_);
  has_no_slot_ = false;
  slots_.Open(std::move(session), first, stride);
  WakeNextSender();
}

void Connection::UseNoSlot() {
  const Lock lock(mutex_);
  has_no_slot_ = true;
  CompleteAll(queue_, [this](Call& call) { return EndWithoutSlot(call); });
}

void Connection::EndSession(uint64_t generation) {
  const Lock lock(mutex_);
  slots_.Close(generation);
  EndWithSession();
}

bool Connection::Remembers(const Call& call) {
  const Lock lock(mutex_);
  return call.slot_ && slots_.Has(*call.slot_);
}

void Connection::Leave(Call& call) {
  if (!call.slot_) return;
  const Lock lock(mutex_);
  slots_.Leave(*call.slot_, call.slot_was_sent_);
  call.slot_.reset();
  EndWithSession();
  WakeNextSender();
}

void Connection::SendNow(Call& call) {
  if (call.wake_.load() == Call::kDone) return;
  Lock lock(mutex_);
  if (call.outcome_ != Outcome::kPending) return;
  if (call.transmission_ == Call::Transmission::kSent) return;
  call.deadline = Clock::now();  // do not wait for space in the socket
  Transmit(lock, call);
}

Outcome Connection::Wait(Call& call) {
  if (call.wake_.load() == Call::kDone) return Finish(call);
  const bool can_be_canceled = protocol::Cancellation::Current() != nullptr;
  if (can_be_canceled) [[unlikely]]
    socket_.MakeWakeable();
  Lock lock(mutex_);
  call.is_cancelable_ = can_be_canceled;
  call.canceled_ = false;  // of an earlier wait
  if (!can_be_canceled) [[likely]]
    return AwaitDone(std::move(lock), call) ? Finish(call) : Outcome::kPending;
  lock.unlock();
  const auto cancel = [&] { Cancel(call); };
  const protocol::OnCancel on_cancel(cancel);
  if (protocol::Cancellation::IsCanceled()) Cancel(call);
  return AwaitDone(Lock(mutex_), call) ? Finish(call) : Outcome::kPending;
}

// Returns false where the wait ends and the call stays in flight.
bool Connection::AwaitDone(Lock lock, Call& call) {
  while (call.outcome_ == Outcome::kPending) {
    if (driver_ == nullptr || driver_ == &call) {
      if (!Drive(lock, call)) return false;
      continue;
    }
    if (call.transmission_ != Call::Transmission::kSent) Transmit(lock, call);
    if (call.outcome_ != Outcome::kPending || driver_ == nullptr || driver_ == &call) continue;
    if (IsOver(call, Clock::now())) {
      if (!EndWait(lock, call)) return false;
      continue;
    }
    Sleep(lock, call, call.deadline);
    if (!lock.owns_lock()) break;
  }
  return true;
}

// Another thread's: wakes the owner of the call, who ends the wait.
void Connection::Cancel(Call& call) {
  const Lock lock(mutex_);
  call.canceled_ = true;
  if (call.outcome_ != Outcome::kPending) return;
  if (driver_ == &call) socket_.Wake();
  if (!call.sleeps_) return;
  call.wake_.store(Call::kDrive);
  rcu::FutexWake(&call.wake_);
}

// Returns without the lock if the call is done.
void Connection::Sleep(Lock& lock, Call& call, Clock::time_point until) {
  call.wake_.store(Call::kAsleep);
  call.sleeps_ = true;
  waiters_.push_back(call);
  lock.unlock();
  rcu::FutexWait(call.wake_, Call::kAsleep, until);
  if (call.wake_.load() == Call::kDone) return;
  lock.lock();
  call.sleeps_ = false;
  if (call.waiter_hook_.is_linked()) waiters_.erase(waiters_.iterator_to(call));
}

// Ends the wait for a call that IsOver(). Returns false if the call stays in flight.
bool Connection::EndWait(Lock& lock, Call& call) {
  sent_.wait(lock, [&] { return call.transmission_ != Call::Transmission::kSending; });
  const bool is_sent = call.transmission_ == Call::Transmission::kSent;
  if (call.outlives_wait && is_sent) return false;
  GiveUp(lock, call);
  return true;
}

Outcome Connection::Withdraw(Call& call) {
  {
    Lock lock(mutex_);
    GiveUp(lock, call);
  }
  return Finish(call);
}

// Ends a call unless it is done. Preconditions: it is not kSending.
void Connection::GiveUp(Lock& lock, Call& call) {
  if (receiving_into_ == &call) {
    call.given_up_ = true;
    NFSWALK_SYNC_POINT("connection:before-wait-for-receive");
    received_.wait(lock, [&] { return call.outcome_ != Outcome::kPending; });
  }
  if (call.outcome_ == Outcome::kPending) TimeOut(call);
}

// Preconditions: it is not kSending, and not received into.
void Connection::TimeOut(Call& call) {
  if (call.transmission_ == Call::Transmission::kPartial) {
    Break();
    call.outcome_ = Outcome::kTimedOut;
    return;
  }
  if (call.transmission_ == Call::Transmission::kSent) {
    late_bytes_max_ = std::max<size_t>(late_bytes_max_, call.request_.results_bytes_max);
  }
  Complete(call, Outcome::kTimedOut);
}

// Its owner may free the call once `wake_` says so.
void Connection::Complete(Call& call, Outcome outcome) {
  CallList& list = call.transmission_ == Call::Transmission::kQueued ||
                           call.transmission_ == Call::Transmission::kPartial
                       ? queue_
                       : in_flight_;
  list.erase(list.iterator_to(call));
  call.transmission_ = Call::Transmission::kNone;
  if (IsPlaceable(call.request_)) --placeable_;
  if (placed_ == &call) {
    placed_ = nullptr;
    reader_.StopPlacing();
  }
  if (outcome == Outcome::kReplied && call.slot_ && !TakeSequence(call)) {
    call.reject_reason_ = RejectReason::kMalformedReply;
    outcome = Outcome::kRejected;
  }
  if (outcome == Outcome::kReplied) {
    replies_.Add(call.request_.counts_as, last_received_ - call.sent_at_);
  }
  load_.fetch_sub(1);
  if (call.waiter_hook_.is_linked()) waiters_.erase(waiters_.iterator_to(call));
  if (driver_ == &call && !driving_) {
    driver_ = nullptr;
    HandOver();
  }
  const bool sleeps = call.sleeps_;
  call.outcome_ = outcome;
  call.wake_.store(Call::kDone);
  if (sleeps) rcu::FutexWake(&call.wake_);
}

ReplyCounts Connection::replies() const {
  const std::lock_guard lock(mutex_);
  return replies_;
}

void Connection::HandOver() {
  if (driver_ != nullptr || waiters_.empty()) return;
  driver_ = &waiters_.front();
  waiters_.pop_front();
  driver_->wake_.store(Call::kDrive);
  rcu::FutexWake(&driver_->wake_);
}

// Reads the header of the reply.
Outcome Connection::Finish(Call& call) {
  if (call.outcome_ != Outcome::kReplied) return call.outcome_;
  XdrReader reply(call.reply_.bytes());
  reply.Skip(2 * sizeof(uint32_t));  // xid and message type: TakeReply()
  call.reject_reason_ = ReadReplyHeader(reply);
  call.results_ = call.reply_.bytes().last(reply.bytes_left());
  const bool executed = call.reject_reason_ == RejectReason::kNone;
  return call.outcome_ = executed ? Outcome::kReplied : Outcome::kRejected;
}

void Connection::Abort(const Call& call) {
  const Lock lock(mutex_);
  if (state_ == State::kUp && call.generation_ == generation_) Break();
}

void Connection::AbortIfSilent(const Call& call, Clock::time_point then) {
  const Lock lock(mutex_);
  const bool had_time =
      connected_at_ <= then || (call.was_sent() && call.generation_ == generation_);
  // One that had no slot says nothing of the connection.
  if (!call.was_sent() && IsInSession(call.request_) && !call.slot_) return;
  if (state_ == State::kUp && had_time && last_received_ <= then) Break();
}

bool Connection::HasReceivedSince(const Call& call, Clock::time_point then) {
  const Lock lock(mutex_);
  return state_ == State::kUp && call.generation_ == generation_ && last_received_ > then;
}

void Connection::FitLease(std::chrono::milliseconds lease) {
  const Lock lock(mutex_);
  socket_.SetSilence(std::min(timeouts_.silence, lease / 2));
  backoff_max_ = std::clamp(lease / 2, kBackoffMin, kBackoffMax);
  backoff_ = std::min(backoff_, backoff_max_);
}

// Ends the connection and what was sent on it. What was not waits for the next.
void Connection::Break() {
  if (state_ == State::kUp) {
    state_ = State::kBroken;
    socket_.Interrupt();
  }
  EndSent(Outcome::kLost);
  partial_bytes_ = 0;
}

void Connection::EndSent(Outcome outcome) {
  const auto outcome_of = [this, outcome](const Call& call) {
    const bool ends = call.was_sent_ && call.transmission_ != Call::Transmission::kSending &&
                      &call != receiving_into_;
    return ends ? outcome : Outcome::kPending;
  };
  CompleteAll(in_flight_, outcome_of);
  CompleteAll(queue_, outcome_of);
}

void Connection::EndAll() {
  EndSent(Outcome::kCanceled);
  CompleteAll(queue_, [](const Call&) { return Outcome::kCanceled; });
}

void Connection::Shutdown() {
  if (rcu::InForkedChild()) return;  // the connection is the parent's
  const Lock lock(mutex_);
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  socket_.Interrupt();
  EndAll();
}

}  // namespace nfswalk::rpc
