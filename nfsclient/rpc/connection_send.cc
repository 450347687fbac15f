// Sending: the calls in the queue leave together, by the thread that comes first.
#include <algorithm>
#include <cerrno>

#include "nfsclient/rpc/connection.h"
#include "rcu/futex.h"

namespace nfswalk::rpc {
namespace {

constexpr size_t kCallsOfBatch = 64;
constexpr size_t kPartsOfCall = 5;  // header, arguments, data, padding, tail
constexpr std::byte kPadding[3] = {};
// A thread that waits for space looks that often whether it is to receive.
constexpr std::chrono::milliseconds kPollForSpace{10};
// The system had no memory to send with, of which poll(2) does not tell the end.
constexpr std::chrono::milliseconds kPauseWithoutMemory{10};

}  // namespace

// The calls that one sendmsg(2) sends, and their bytes.
struct Connection::Batch {
  std::array<Call*, kCallsOfBatch> calls;
  std::array<size_t, kCallsOfBatch> bytes;  // of the first: what is left
  size_t count = 0;
  std::array<iovec, kCallsOfBatch * kPartsOfCall> parts;
  size_t part_count = 0;

  void Add(std::span<const std::byte> part) {
    if (part.empty()) return;
    parts[part_count++] = {const_cast<std::byte*>(part.data()), part.size()};
    bytes[count] += part.size();
  }
  // Leaves out what was sent of the first call.
  void SkipSent(size_t sent) {
    bytes[0] -= sent;
    size_t first = 0;
    while (sent >= parts[first].iov_len) sent -= parts[first++].iov_len;
    parts[first].iov_base = static_cast<std::byte*>(parts[first].iov_base) + sent;
    parts[first].iov_len -= sent;
    std::copy(parts.begin() + first, parts.begin() + part_count, parts.begin());
    part_count -= first;
  }
};

// Sends until the queue is empty, the socket is full, as many calls as allowed are in flight or
// `sender` is done and another sleeps that can go on: the driver cannot, in recv(2). Where the
// socket is full the driver waits for it together with replies, another thread here, as long as
// there is a driver and its own call is not done; a driver that is in recv(2) by then looks after
// TcpSocket::kReceiveWaitMax at the latest.
void Connection::Transmit(Lock& lock, const Call& sender) {
  if (sending_ || MustPause()) return;
  sending_ = true;
  while (state_ == State::kUp && CanSend() &&
         (sender.outcome_ == Outcome::kPending || NextSender() == nullptr)) {
    Batch batch;
    Gather(batch);
    lock.unlock();
    const ssize_t sent = socket_.Send({batch.parts.data(), batch.part_count});
    lock.lock();
    Account(batch, sent);
    sent_.notify_all();
    if (!send_blocked_) continue;
    if (driver_ == &sender || driver_ == nullptr || sender.outcome_ != Outcome::kPending) break;
    const short space = MustPause() ? 0 : POLLOUT;
    lock.unlock();
    socket_.Poll(space, std::min(sender.deadline, Clock::now() + kPollForSpace));
    lock.lock();
    if (Clock::now() >= sender.deadline) break;
  }
  sending_ = false;
  sent_.notify_all();
  WakeNextSender();
}

// Returns whether nothing is to be sent before resume_sending_.
bool Connection::MustPause() const {
  return resume_sending_ != Clock::time_point{} && Clock::now() < resume_sending_;
}

// A call in the queue whose owner sleeps. The owner of a call that was submitted before another one
// of its thread does not wait for it yet.
Call* Connection::NextSender() {
  const auto next =
      std::ranges::find_if(queue_, [](const Call& call) { return call.waiter_hook_.is_linked(); });
  return next == queue_.end() ? nullptr : &*next;
}

// Lets the next sender go on if the socket may take more.
void Connection::WakeNextSender() {
  if (state_ != State::kUp || !CanSend()) return;
  Call* const next = NextSender();
  if (next == nullptr) return;
  next->wake_.store(Call::kDrive);
  rcu::FutexWake(&next->wake_);
}

// Returns whether the first in the queue may be sent.
bool Connection::CanSend() {
  if (queue_.empty() || in_flight_.size() >= kInFlightMax) return false;
  const Call& next = queue_.front();
  return !NeedsSlot(next) || slots_.CanTake(next.ends_with_session);
}

void Connection::Gather(Batch& batch) {
  const Clock::time_point now = Clock::now();
  while (batch.count < kCallsOfBatch && CanSend()) {
    Call& call = queue_.front();
    if (!TakeSlot(call)) continue;
    const bool goes_on = call.transmission_ == Call::Transmission::kPartial;
    call.slot_was_resent_ |= call.slot_was_sent_ && !goes_on;
    queue_.pop_front();
    in_flight_.push_back(call);
    const Request& request = call.request_;
    batch.calls[batch.count] = &call;
    batch.bytes[batch.count] = 0;
    batch.Add({call.header_.data(), call.header_bytes_});
    batch.Add(request.arguments);
    batch.Add(request.data);
    batch.Add(std::span(kPadding).first(-request.data.size() % 4));
    batch.Add(request.tail);
    if (call.transmission_ == Call::Transmission::kPartial) batch.SkipSent(partial_bytes_);
    call.transmission_ = Call::Transmission::kSending;
    call.generation_ = generation_;
    call.sent_at_ = now;
    ++batch.count;
  }
}

// `sent`: bytes, or -errno.
void Connection::Account(const Batch& batch, ssize_t sent) {
  send_blocked_ = false;
  const bool without_memory = sent == -ENOBUFS || sent == -ENOMEM;
  resume_sending_ = without_memory ? Clock::now() + kPauseWithoutMemory : Clock::time_point{};
  const bool failed = sent < 0 && !without_memory && sent != -EAGAIN && sent != -EINTR;
  size_t left = sent > 0 ? static_cast<size_t>(sent) : 0;
  const size_t partial_before = std::exchange(partial_bytes_, 0);
  size_t i = 0;
  for (; i < batch.count && left >= batch.bytes[i]; ++i) {
    Call& call = *batch.calls[i];
    left -= batch.bytes[i];
    call.transmission_ = Call::Transmission::kSent;
    call.was_sent_ = call.slot_was_sent_ = true;
    calls_sent_.fetch_add(1);
    if (call.early_outcome_ != Outcome::kPending) Complete(call, call.early_outcome_);
  }
  if (i == batch.count) return EndIfBroken();
  send_blocked_ = true;
  // The first of the rest may have been sent in part, now or before.
  Call& first = *batch.calls[i];
  if (i == 0) left += partial_before;
  first.was_sent_ = left != 0;
  first.slot_was_sent_ |= first.was_sent_;
  partial_bytes_ = left;
  const bool answered_early = Requeue(batch, i);
  if (has_no_slot_) CompleteAll(queue_, [this](Call& call) { return EndWithoutSlot(call); });
  if (failed || answered_early) Break();
  EndIfBroken();
}

// Puts the calls from `first` on back into the queue. Returns whether the server answered one.
bool Connection::Requeue(const Batch& batch, size_t first) {
  bool answered = false;
  for (size_t i = batch.count; i-- > first;) {
    Call& call = *batch.calls[i];
    answered |= std::exchange(call.early_outcome_, Outcome::kPending) != Outcome::kPending;
    call.reply_ = {};
    in_flight_.erase(in_flight_.iterator_to(call));
    queue_.push_front(call);
    call.transmission_ =
        call.was_sent_ ? Call::Transmission::kPartial : Call::Transmission::kQueued;
  }
  return answered;
}

// Ends the calls that were being sent while another thread broke or closed the connection.
void Connection::EndIfBroken() {
  if (state_ == State::kBroken) Break();
  if (state_ == State::kClosed) EndAll();
}

}  // namespace nfswalk::rpc
