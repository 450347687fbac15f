// The driver of a connection: connects, receives, and hands replies to their calls.
#include <algorithm>
#include <cerrno>

#include "nfsclient/rpc/connection.h"
#include "nfsclient/rpc/reply_header.h"
#include "rcu/futex.h"

namespace nfswalk::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A server may have ended a connection that was idle for as long.
constexpr seconds kIdle{1};
constexpr uint32_t kFailuresBeforeAsking = 3;  // where the server is
constexpr uint32_t kCallMessage = 0;           // RFC 5531 9: msg_type
constexpr uint32_t kReplyMessage = 1;

}  // namespace

// Ends when `call` is done, or the wait for it. Returns false if it stays in flight.
bool Connection::Drive(Lock& lock, Call& call) {
  driver_ = &call;
  driving_ = true;
  call.wake_.store(Call::kAsleep);
  bool waits = true;
  while (waits && call.outcome_ == Outcome::kPending) {
    const Clock::time_point now = Clock::now();
    if (IsOver(call, now)) {
      waits = EndWait(lock, call);
    } else if (state_ == State::kDown && now < next_attempt_) {
      Pause(lock, call, std::min(next_attempt_, call.deadline));
    } else if (state_ == State::kDown) {
      StartConnecting();
    } else if (state_ == State::kConnecting) {
      AwaitConnection(lock, call.deadline);
    } else if (state_ == State::kBroken || state_ == State::kClosed) {
      // Who sends ends the calls that it was sending.
      sent_.wait(lock, [this] { return !sending_; });
      if (state_ == State::kBroken) EndConnection(BackOff());
    } else if (IsIdle(now) && socket_.has_ended()) {
      EndSent(Outcome::kLost);
      EndConnection(now);
    } else if (call.early_outcome_ != Outcome::kPending) {
      // Nothing more may come: who sends ends the call.
      sent_.wait(lock, [&] { return call.transmission_ != Call::Transmission::kSending; });
    } else {
      Transmit(lock, call);
      const bool is_open =
          call.outcome_ == Outcome::kPending && call.early_outcome_ == Outcome::kPending;
      if (state_ == State::kUp && is_open) Receive(lock, call);
    }
  }
  driving_ = false;
  driver_ = nullptr;
  HandOver();
  return waits;
}

// Returns whether nothing is in flight, and was not for so long that the server may have left.
bool Connection::IsIdle(Clock::time_point now) {
  return in_flight_.empty() && partial_bytes_ == 0 && !sending_ &&
         now - std::max(last_received_, connected_at_) > kIdle;
}

// Ends early when the call is canceled.
void Connection::Pause(Lock& lock, Call& call, Clock::time_point until) {
  call.sleeps_ = true;
  lock.unlock();
  rcu::FutexWait(call.wake_, Call::kAsleep, until);
  lock.lock();
  call.sleeps_ = false;
}

// Connects to where the server is by now.
void Connection::FollowServer() {
  if (locator_ == nullptr) return;
  std::shared_ptr<const ServerLocation> now = locator_->Current();
  if (now == location_) return;
  if (socket_.SetPeer(now->address, now->port) == std::errc{}) location_ = std::move(now);
}

void Connection::StartConnecting() {
  FollowServer();
  state_ = State::kConnecting;
  connect_deadline_ = Clock::now() + timeouts_.connect;
  const int error = socket_.Connect();
  if (error != EINPROGRESS) ConnectEnded(error);
}

void Connection::AwaitConnection(Lock& lock, Clock::time_point until) {
  lock.unlock();
  const bool ended = socket_.PollOrWake(POLLOUT, std::min(until, connect_deadline_)) != 0;
  lock.lock();
  if (state_ != State::kConnecting) return;
  if (ended) {
    ConnectEnded(socket_.ConnectResult());
  } else if (Clock::now() >= connect_deadline_) {
    ConnectEnded(ETIMEDOUT);
  }
}

void Connection::ConnectEnded(int error) {
  if (error == 0) {
    socket_.Established();
    state_ = State::kUp;
    ++generation_;
    connections_opened_.fetch_add(1);
    late_bytes_max_ = 0;
    strays_ = 0;
    connect_failures_ = 0;
    connected_at_ = Clock::now();
    return;
  }
  if (++connect_failures_ >= kFailuresBeforeAsking && locator_ != nullptr) locator_->AskAnew();
  EndConnection(BackOff());
  CompleteAll(queue_, [error](Call& call) {
    if (!call.fail_if_unreachable) return Outcome::kPending;
    call.connect_errno_ = error;
    return Outcome::kUnreachable;
  });
}

void Connection::EndConnection(Clock::time_point next_attempt) {
  socket_.Disconnect();
  reader_.Reset();
  send_blocked_ = false;
  state_ = State::kDown;
  next_attempt_ = next_attempt;
}

// Returns when to connect again, after a failure.
Connection::Clock::time_point Connection::BackOff() {
  const milliseconds pause = backoff_ - backoff_ * static_cast<int64_t>(jitter_() % 256) / 1024;
  backoff_ = std::min(backoff_ * 2, backoff_max_);
  return Clock::now() + pause;
}

void Connection::Receive(Lock& lock, Call& driver) {
  std::span<std::byte> space = reader_.Space();
  if (space.empty()) {
    EndSent(Outcome::kNoMemory);
    return Break();
  }
  const Call* const placed = reader_.is_placing() ? placed_ : nullptr;
  const bool is_for_other = placed != nullptr && placed != &driver;
  // Stops behind the header of the next reply: what follows may go elsewhere.
  if (placeable_ != 0 && placed == nullptr) {
    space = space.first(std::min(space.size(), reader_.missing_bytes() + kHeaderReceiveBytes));
  }
  const bool wants_to_send = send_blocked_ && !sending_ && CanSend();
  const bool pauses = wants_to_send && MustPause();
  const short wanted = static_cast<short>(wants_to_send && !pauses ? POLLIN | POLLOUT : POLLIN);
  const Clock::time_point now = Clock::now();
  // Ends soon: others may send a call in part meanwhile.
  Clock::time_point until = std::min(driver.deadline, now + TcpSocket::kReceiveWaitMax);
  if (pauses) until = std::min(until, resume_sending_);
  const bool can_be_woken = driver.is_cancelable_ && socket_.is_wakeable();
  const bool wait = !wants_to_send && !can_be_woken && !is_for_other &&
                    driver.deadline - now > 2 * TcpSocket::kReceiveWaitMax;
  lock.unlock();
  ssize_t received = -EAGAIN;
  const bool is_ready = wait || (socket_.PollOrWake(wanted, until) & ~POLLOUT) != 0;
  if (is_ready && !is_for_other) received = socket_.Receive(space, wait);
  lock.lock();
  if (is_ready && is_for_other) received = ReceiveForOther(lock, placed, space);
  if (state_ == State::kUp) ReceivedSome(received);
}

// Receives into the memory of another thread's call, which ends no sooner. Returns -EAGAIN if it
// has ended, or if nothing has come.
ssize_t Connection::ReceiveForOther(Lock& lock, const Call* other, std::span<std::byte> space) {
  if (placed_ != other) return -EAGAIN;
  receiving_into_ = other;
  lock.unlock();
  const ssize_t received = socket_.Receive(space, false);
  lock.lock();
  receiving_into_ = nullptr;
  received_.notify_all();
  EndIfBroken();
  return received;
}

// `received`: bytes, or -errno.
void Connection::ReceivedSome(ssize_t received) {
  const bool is_absent = received == -EFAULT && reader_.is_placing();  // the memory of a caller
  if (received > 0) {
    reader_.Received(static_cast<size_t>(received));
    last_received_ = Clock::now();
  }
  if (is_absent) {
    Complete(*placed_, Outcome::kNoMemory);
  } else if (placed_ != nullptr && placed_->given_up_) {
    TimeOut(*placed_);
  }
  if (received == -EAGAIN || is_absent) return;
  if (received <= 0) return Break();
  TakeRecords();
  if (state_ == State::kUp) PlaceData();
}

// Lets the rest of the data of a call be received where it goes, if its reply is in flight.
void Connection::PlaceData() {
  const std::span<const std::byte> begin = reader_.Unfinished();
  if (placeable_ == 0 || begin.empty()) return;
  XdrReader reply(begin);
  const auto call = std::ranges::find(in_flight_, reply.U32(), &Call::xid_);
  if (call == in_flight_.end() || call->transmission_ != Call::Transmission::kSent) return;
  const Request& request = call->request_;
  if (request.data_into.empty()) return;
  if (reply.U32() != kReplyMessage || ReadReplyHeader(reply) != RejectReason::kNone) return;
  const auto found = request.find_data(begin.last(reply.bytes_left()));
  if (!found) return;
  reply.Skip(*found);
  const size_t bytes = reply.U32();
  const size_t here = reply.bytes_left();
  if (!reply.good() || bytes > request.data_into.size() || here >= bytes) return;
  if (!reader_.Place(request.data_into.subspan(here, bytes - here))) return;
  placed_ = &*call;
  call->placed_bytes_ = bytes - here;
}

void Connection::TakeRecords() {
  for (;;) {
    ReplySlice record;
    switch (reader_.Take(record, [this] { return RecordBytesMax(); })) {
      case RecordReader::Next::kIncomplete:
        return;
      case RecordReader::Next::kRecord:
        if (TakeReply(std::move(record), true)) break;
        return Break();
      case RecordReader::Next::kTooLong:
        TakeReply(std::move(record), false);
        return Break();
      case RecordReader::Next::kEmptyFragment:
        return Break();
    }
  }
}

// Returns false if the server violates the protocol: the call that it answered so is over, since
// the answer would be the same the next time. `is_whole`: not cut for its length.
bool Connection::TakeReply(ReplySlice record, bool is_whole) {
  XdrReader reader(record.bytes());
  const uint32_t xid = reader.U32();
  const uint32_t type = reader.U32();
  const bool is_reply = type == kReplyMessage && reader.good();
  const bool is_call = type == kCallMessage && reader.good();
  const auto found = std::ranges::find(in_flight_, xid, &Call::xid_);
  // The server's own calls have xids of their own, which may be those of ours.
  if (is_call || found == in_flight_.end()) {
    if (is_reply) TakeLateReply(xid, reader);
    return (is_call || is_reply) && ++strays_ < kStraysMax;
  }
  Call& call = *found;
  strays_ = 0;
  backoff_ = kBackoffMin;
  const size_t bytes_max = kReplyHeaderBytesMax + call.request_.results_bytes_max;
  if (!is_reply || !is_whole || record.bytes().size() > bytes_max) {
    call.reject_reason_ = RejectReason::kMalformedReply;
    Answer(call, Outcome::kRejected);
    return false;
  }
  call.reply_ = std::move(record);
  if (call.placed_bytes_ != 0) call.placed_at_ = call.reply_.bytes().data() + reader_.placed_at();
  return Answer(call, Outcome::kReplied);
}

// Takes the reply to a call that was given up: its slot can be used again.
void Connection::TakeLateReply(uint32_t xid, XdrReader& reply) {
  if (minor_version_ == 0 || ReadReplyHeader(reply) != RejectReason::kNone) return;
  SkipCompoundHead(reply);
  slots_.TakeLate(xid, reply);
  EndWithSession();
}

// Returns false if the call has an answer already.
bool Connection::Answer(Call& call, Outcome outcome) {
  if (call.transmission_ == Call::Transmission::kSent) {
    Complete(call, outcome);
    return true;
  }
  return std::exchange(call.early_outcome_, outcome) == Outcome::kPending;
}

size_t Connection::RecordBytesMax() const {
  size_t bytes = late_bytes_max_;
  for (const Call& call : in_flight_) {
    bytes = std::max<size_t>(bytes, call.request_.results_bytes_max);
  }
  return kReplyHeaderBytesMax + bytes;
}

}  // namespace nfswalk::rpc
