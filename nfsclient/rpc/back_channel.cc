#include "nfsclient/rpc/back_channel.h"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

#include "nfsclient/rpc/reply_header.h"
#include "sunrpc_auth/auth_body.h"

namespace nfswalk::rpc {
namespace {

using std::chrono::milliseconds;

// RFC 5531 9, 11.
constexpr uint32_t kLastFragment = 0x80000000;
constexpr uint32_t kCallMessage = 0;
constexpr uint32_t kReplyMessage = 1;
constexpr uint32_t kRpcVersion = 2;
constexpr uint32_t kAccepted = 0;
constexpr uint32_t kDenied = 1;
constexpr uint32_t kRpcMismatch = 0;
constexpr uint32_t kAuthNone = 0;
constexpr uint32_t kAuthSys = 1;

// Begins a message, whose record mark is written when it is sent.
void Begin(XdrWriter& message, uint32_t xid, uint32_t type) { message.U32(0).U32(xid).U32(type); }

}  // namespace

std::expected<std::unique_ptr<BackChannel>, std::errc> BackChannel::Open(
    const Endpoint& endpoint, const Timeouts& timeouts, std::shared_ptr<ServerLocator> locator,
    std::string credential, Service service) {
  std::unique_ptr<BackChannel> channel(new BackChannel(endpoint, timeouts, std::move(locator),
                                                       std::move(credential), std::move(service)));
  const std::errc error =
      channel->socket_.Create(endpoint.address, endpoint.port, timeouts.silence);
  if (error != std::errc{}) return std::unexpected(error);
  channel->socket_.MakeWakeable();
  if (!channel->socket_.is_wakeable()) return std::unexpected(std::errc::too_many_files_open);
  return channel;
}

BackChannel::BackChannel(const Endpoint& endpoint, const Timeouts& timeouts,
                         std::shared_ptr<ServerLocator> locator, std::string credential,
                         Service service)
    : endpoint_(endpoint),
      timeouts_(timeouts),
      locator_(std::move(locator)),
      credential_(std::move(credential)),
      service_(std::move(service)),
      next_xid_(arc4random()),
      jitter_(next_xid_) {}

void BackChannel::Bind(Binding binding) noexcept try {
  auto next = std::make_shared<const Binding>(std::move(binding));
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  if (!thread_.joinable()) thread_ = std::thread(&BackChannel::Run, this);
  binding_ = std::move(next);
  is_refused_ = is_lost_ = false;
  is_bound_.store(false);
  changed_.notify_all();
  socket_.Wake();
} catch (const std::exception&) {  // std::bad_alloc, std::system_error
}

void BackChannel::NoteLost() {
  const std::lock_guard lock(mutex_);
  if (!is_bound_.load()) return;
  is_lost_ = true;
  socket_.Wake();
}

void BackChannel::FitLease(milliseconds lease) {
  const milliseconds half = std::max(lease / 2, kBackoffMin);
  socket_.SetSilence(std::min(timeouts_.silence, half));
  const std::lock_guard lock(mutex_);
  backoff_max_ = std::min(kBackoffMax, half);
}

void BackChannel::Shutdown() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
  socket_.Wake();
}

void BackChannel::End() {
  Shutdown();
  if (thread_.joinable()) thread_.join();
}

void BackChannel::Run() {
  while (AwaitBinding()) {
    const Clock::time_point began = Clock::now();
    try {
      if (Connect()) Serve();
    } catch (const std::bad_alloc&) {
    }
    if (is_bound_.exchange(false)) service_.on_lost();
    socket_.Disconnect();
    reader_.Reset();
    BackOff(began);
  }
}

// Returns whether there is one for a connection: present_. The pause is between two attempts at
// one.
bool BackChannel::AwaitBinding() {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, next_attempt_, [this] { return stopped_ || binding_ != present_; });
  changed_.wait(lock, [this] { return stopped_ || (binding_ != nullptr && !is_refused_); });
  is_lost_ = false;
  present_ = binding_;
  return !stopped_;
}

void BackChannel::BackOff(Clock::time_point began) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (now - began >= backoff_max_) backoff_ = kBackoffMin;
  next_attempt_ = now + backoff_ - backoff_ * static_cast<int64_t>(jitter_() % 256) / 1024;
  backoff_ = std::min(backoff_ * 2, backoff_max_);
}

bool BackChannel::Connect() {
  if (HasMoved()) {
    std::shared_ptr<const ServerLocation> now = locator_->Current();
    if (socket_.SetPeer(now->address, now->port) == std::errc{}) location_ = std::move(now);
  }
  const Clock::time_point due = Clock::now() + timeouts_.connect;
  int error = socket_.Connect();
  while (error == EINPROGRESS && Clock::now() < due && !HasStopped()) {
    if (socket_.PollOrWake(POLLOUT, due) != 0) error = socket_.ConnectResult();
  }
  if (error == 0) socket_.Established();
  return error == 0;
}

// Whether the server is elsewhere than where the socket connects to.
bool BackChannel::HasMoved() const {
  return locator_ != nullptr && locator_->Current() != location_;
}

bool BackChannel::HasStopped() {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

void BackChannel::Serve() {
  bool goes_on = SendBinding();
  while (goes_on) {
    const bool is_late = !is_answered_ && Clock::now() >= answer_due_;
    goes_on = !is_late && FollowBinding() &&
              Receive(is_answered_ ? Clock::time_point::max() : answer_due_);
  }
}

// Sends the binding that has replaced the one that was sent.
bool BackChannel::FollowBinding() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || is_lost_ || is_refused_) return false;
    if (binding_ == present_) return true;
    // A reply to an earlier one would have to be told apart.
    if (!is_answered_ || HasMoved()) return false;
    present_ = binding_;
  }
  return SendBinding();
}

bool BackChannel::SendBinding() {
  is_answered_ = false;
  answer_due_ = Clock::now() + timeouts_.connect;
  XdrWriter call;
  Begin(call, ++next_xid_, kCallMessage);
  call.U32(kRpcVersion).U32(endpoint_.program).U32(endpoint_.version).U32(present_->procedure);
  call.U32(credential_.empty() ? kAuthNone : kAuthSys).Bytes(credential_);
  call.U32(kAuthNone).U32(0);  // the verifier
  const std::vector<std::byte>& arguments = present_->arguments;
  call.Opaque({reinterpret_cast<const char*>(arguments.data()), arguments.size()});
  return Send(call);
}

bool BackChannel::Receive(Clock::time_point until) {
  if (socket_.PollOrWake(POLLIN, until) == 0) return true;
  const std::span<std::byte> space = reader_.Space();
  if (space.empty()) return false;
  const ssize_t received = socket_.Receive(space, false);
  if (received == -EAGAIN) return true;
  if (received <= 0) return false;
  reader_.Received(static_cast<size_t>(received));
  for (;;) {
    ReplySlice record;
    switch (reader_.Take(record, [] { return kMessageBytesMax; })) {
      case RecordReader::Next::kIncomplete:
        return true;
      case RecordReader::Next::kRecord:
        if (!TakeRecord(record)) return false;
        break;
      case RecordReader::Next::kTooLong:
      case RecordReader::Next::kEmptyFragment:
        return false;
    }
  }
}

bool BackChannel::TakeRecord(const ReplySlice& record) {
  XdrReader message(record.bytes());
  const uint32_t xid = message.U32();
  const uint32_t type = message.U32();
  if (!message.good()) return false;
  if (type == kCallMessage) return AnswerCall(xid, message);
  return type == kReplyMessage && xid == next_xid_ && !is_answered_ && TakeBindingReply(message);
}

bool BackChannel::TakeBindingReply(XdrReader& reply) {
  is_answered_ = true;
  Bound bound = Bound::kNo;
  switch (ReadReplyHeader(reply)) {
    case RejectReason::kNone:
      bound = present_->decide(reply);
      break;
    case RejectReason::kSystemError:
    case RejectReason::kMalformedReply:
      bound = Bound::kLater;
      break;
    default:
      break;
  }
  const std::lock_guard lock(mutex_);
  const bool is_present = binding_ == present_;
  is_bound_.store(bound == Bound::kYes && is_present);
  is_refused_ = bound == Bound::kNo && is_present;
  return bound == Bound::kYes;
}

bool BackChannel::AnswerCall(uint32_t xid, XdrReader& call) {
  const uint32_t rpc_version = call.U32();
  const uint32_t program = call.U32();
  const uint32_t version = call.U32();
  const uint32_t procedure = call.U32();
  for (int i = 0; i < 2; ++i) {  // credential and verifier: it is the server whoever it says it is
    call.U32();
    call.Bytes(sunrpc_auth::kAuthBodyBytesMax);
  }
  if (!call.good()) return false;
  XdrWriter reply;
  Begin(reply, xid, kReplyMessage);
  if (rpc_version != kRpcVersion) {
    reply.U32(kDenied).U32(kRpcMismatch).U32(kRpcVersion).U32(kRpcVersion);
    return Send(reply);
  }
  reply.U32(kAccepted).U32(kAuthNone).U32(0);
  const size_t status_at = reply.size();
  reply.U32(0);
  Accepted accepted = Accepted::kProgramUnavailable;
  if (program == service_.program && version != service_.version) {
    accepted = Accepted::kVersionMismatch;
    reply.U32(service_.version).U32(service_.version);
  } else if (program == service_.program) {
    accepted = service_.answer(procedure, call, reply);
  }
  reply.Replace(status_at, static_cast<uint32_t>(accepted));
  calls_.fetch_add(1);
  return Send(reply);
}

bool BackChannel::Send(XdrWriter& message) {
  message.Replace(0, kLastFragment | static_cast<uint32_t>(message.size() - sizeof(uint32_t)));
  std::span<const std::byte> rest = message.bytes();
  const Clock::time_point due = Clock::now() + timeouts_.connect;
  while (!rest.empty()) {
    iovec part{const_cast<std::byte*>(rest.data()), rest.size()};
    const ssize_t sent = socket_.Send({&part, 1});
    if (sent > 0) {
      rest = rest.subspan(static_cast<size_t>(sent));
      continue;
    }
    if (sent != -EAGAIN && sent != -EINTR) return false;
    if (Clock::now() >= due || HasStopped()) return false;
    (void)socket_.PollOrWake(POLLOUT, due);
  }
  return true;
}

}  // namespace nfswalk::rpc
