#include "nfsclient/protocol/rpc_channel.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
// clang-format on

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "rcu/fork.h"

namespace nfswalk::protocol {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBackoffMin{10};
constexpr milliseconds kBackoffMax{1000};
constexpr milliseconds kPollMax{60'000};

// Serialises rpc_init_context() and rpc_connect_port_async(), which write unlocked statics and call
// getservbyport() (libnfs 4.0.0).
std::mutex& ConnectMutex() {
  static std::mutex mutex;
  return mutex;
}

std::string TextOf(const void* result) {
  return result != nullptr ? static_cast<const char*>(result) : "no reason given";
}

// libnfs 4.0.0 reports messages, not codes.
RejectReason ReasonOf(std::string_view text) {
  if (text == "RPC Packet not accepted by the server") return RejectReason::kDenied;
  if (text == "Server responded: Program not available") return RejectReason::kProgramUnavailable;
  if (text == "Server responded: Program version mismatch") return RejectReason::kVersionMismatch;
  if (text == "Server responded: Procedure not available") {
    return RejectReason::kProcedureUnavailable;
  }
  if (text == "Server responded: Garbage arguments") return RejectReason::kGarbageArguments;
  if (text == "Server responded: System Error") return RejectReason::kSystemError;
  return RejectReason::kMalformedReply;
}

// Returns whether `text` is libnfs' message to all calls in flight when it loses the connection.
bool IsConnectionLoss(std::string_view text) { return text.starts_with("RPC ERROR:"); }

}  // namespace

std::expected<std::unique_ptr<RpcChannel>, std::errc> RpcChannel::Open(
    RpcEndpoint endpoint, milliseconds connect_timeout) {
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) return std::unexpected(std::errc{errno});
  std::unique_ptr<RpcChannel> channel(
      new RpcChannel(std::move(endpoint), connect_timeout, wake_fd));
  try {
    channel->thread_ = std::thread(&RpcChannel::Run, channel.get());
  } catch (const std::system_error& error) {
    return std::unexpected(std::errc{error.code().value()});
  }
  return channel;
}

RpcChannel::RpcChannel(RpcEndpoint endpoint, milliseconds connect_timeout, int wake_fd)
    : endpoint_(std::move(endpoint)),
      connect_timeout_(connect_timeout),
      wake_fd_(wake_fd),
      backoff_(kBackoffMin) {}

RpcChannel::~RpcChannel() {
  Shutdown();
  if (thread_.joinable()) thread_.join();
  close(wake_fd_);
}

void RpcChannel::Submit(RpcCall& call) {
  call.Begin(this);
  // Nobody would send it, and the mutex may be held by a thread that is not there.
  if (rcu::InForkedChild()) return call.Complete(CallOutcome::kCanceled);
  {
    std::lock_guard lock(mutex_);
    if (!closing_) {
      submitted_.push_back(call);
      if (submitted_.size() == 1) eventfd_write(wake_fd_, 1);
      return;
    }
  }
  call.Complete(CallOutcome::kCanceled);
}

void RpcChannel::Shutdown() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  eventfd_write(wake_fd_, 1);
}

void RpcChannel::Run() {
  while (TakeSubmitted()) {
    const Clock::time_point now = Clock::now();
    ExpireOverdue(now);
    if (context_ == nullptr) state_ = waiting_.empty() ? State::kIdle : State::kBackingOff;
    if (state_ == State::kBackingOff && now >= next_attempt_) Connect();
    // Writes without a poll() first, which would cost as much as the write.
    if (state_ == State::kUp && IssueWaiting()) Service(POLLOUT);
    PollAndService();
  }
  state_ = State::kClosed;
  DropConnection();
  waiting_.clear_and_dispose([](RpcCall* call) { call->Complete(CallOutcome::kCanceled); });
}

// Returns false once Shutdown() was called; Submit() adds nothing then.
bool RpcChannel::TakeSubmitted() {
  std::lock_guard lock(mutex_);
  for (const RpcCall& call : submitted_) TrackDeadline(call);
  waiting_.splice(waiting_.end(), submitted_);
  return !closing_;
}

void RpcChannel::Connect() {
  connect_failed_ = false;
  connect_errno_ = 0;
  connect_error_.clear();
  int started = -1;
  {
    std::lock_guard lock(ConnectMutex());
    context_ = rpc_init_context();
    if (context_ != nullptr) {
      auth_slot_ = libnfs_authnone_create();
      rpc_set_auth(context_, auth_slot_);
      started = rpc_connect_port_async(
          context_, endpoint_.address.c_str(), endpoint_.port, static_cast<int>(endpoint_.program),
          static_cast<int>(endpoint_.version), &OnConnectCallback, this);
    }
  }
  state_ = State::kConnecting;
  connect_deadline_ = Clock::now() + connect_timeout_;
  if (started == 0) return;
  if (context_ != nullptr) connect_error_ = TextOf(rpc_get_error(context_));
  ConnectionFailed();
}

void RpcChannel::PollAndService() {
  pollfd fds[2] = {{wake_fd_, POLLIN, 0}, {-1, 0, 0}};
  if (context_ != nullptr) {
    // Both may change with every rpc_service().
    fds[1].fd = rpc_get_fd(context_);
    fds[1].events = static_cast<short>(rpc_which_events(context_));
  }
  if (poll(fds, 2, PollTimeoutMs()) <= 0) return;
  if (fds[0].revents != 0) {
    eventfd_t ignored;
    eventfd_read(wake_fd_, &ignored);
  }
  if (context_ == nullptr || fds[1].revents == 0) return;
  if (state_ == State::kConnecting && (fds[1].revents & (POLLERR | POLLHUP)) != 0) {
    socklen_t size = sizeof connect_errno_;
    getsockopt(fds[1].fd, SOL_SOCKET, SO_ERROR, &connect_errno_, &size);
    // Not from connect(2): the server accepted and closed before it answered the NULL call.
    if (connect_errno_ == ECONNRESET) connect_errno_ = 0;
  }
  Service(fds[1].revents);
}

void RpcChannel::Service(int events) {
  const bool alive = rpc_service(context_, events) >= 0;
  if (alive && !connect_failed_) return;
  if (state_ == State::kConnecting) {
    if (connect_error_.empty()) connect_error_ = TextOf(rpc_get_error(context_));
    ConnectionFailed();
  } else {
    DropConnection();
    BackOff();
  }
}

int RpcChannel::PollTimeoutMs() const {
  Clock::time_point until = earliest_deadline_;
  if (state_ == State::kConnecting) until = std::min(until, connect_deadline_);
  if (state_ == State::kBackingOff) until = std::min(until, next_attempt_);
  const Clock::time_point now = Clock::now();
  if (until <= now) return 0;
  if (until - now > kPollMax) return static_cast<int>(kPollMax.count());
  return static_cast<int>(std::chrono::ceil<milliseconds>(until - now).count());
}

// Returns whether a call was passed to libnfs.
bool RpcChannel::IssueWaiting() {
  bool issued = false;
  while (!waiting_.empty() && in_flight_.size() < kInFlightMax) {
    RpcCall& call = waiting_.front();
    waiting_.pop_front();
    Issue(call);
    issued = true;
  }
  return issued;
}

void RpcChannel::Issue(RpcCall& call) {
  // Borrowed during Issue() only, which encodes it: libnfs would free() a body left in the slot.
  if (call.auth != nullptr && call.auth->flavor == sunrpc_auth::Flavor::kSys) {
    auth_slot_->ah_cred = {AUTH_UNIX, const_cast<char*>(call.auth->bytes.data()), call.auth->size};
  }
  in_flight_.push_back(call);
  call.was_sent_ = true;
  const int queued = call.Issue(context_, &OnReplyCallback, &call);
  auth_slot_->ah_cred = {AUTH_NONE, nullptr, 0};
  if (queued == 0) {
    calls_sent_.fetch_add(1);
    return;
  }
  in_flight_.erase(in_flight_.iterator_to(call));
  call.was_sent_ = false;
  call.Complete(CallOutcome::kNotEncodable);
}

void RpcChannel::OnReplyCallback(rpc_context*, int status, void* result, void* data) {
  RpcCall& call = *static_cast<RpcCall*>(data);
  call.channel_->OnReply(call, status, result);
}

void RpcChannel::OnReply(RpcCall& call, int status, const void* result) {
  in_flight_.erase(in_flight_.iterator_to(call));
  if (status == RPC_STATUS_SUCCESS) {
    backoff_ = kBackoffMin;
    call.OnReply(result);
    call.Complete(CallOutcome::kReplied);
    return;
  }
  if (dropping_ || status != RPC_STATUS_ERROR || IsConnectionLoss(TextOf(result))) {
    call.Complete(state_ == State::kClosed ? CallOutcome::kCanceled
                  : call.expired_          ? CallOutcome::kTimedOut
                                           : CallOutcome::kLost);
    return;
  }
  call.failure_text_ = TextOf(result);
  call.reject_reason_ = ReasonOf(call.failure_text_);
  call.Complete(CallOutcome::kRejected);
}

void RpcChannel::OnConnectCallback(rpc_context* rpc, int status, void* result, void* data) {
  RpcChannel& self = *static_cast<RpcChannel*>(data);
  if (self.dropping_) return;
  if (status != RPC_STATUS_SUCCESS) {
    // Within rpc_service(), where the context must not be destroyed: Service() does it.
    self.connect_failed_ = true;
    self.connect_error_ = TextOf(result);
    return;
  }
  // Not set by libnfs 4.0.0. Without it a call waits about 40 ms for the ACK of the one before.
  const int on = 1;
  setsockopt(rpc_get_fd(rpc), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  self.state_ = State::kUp;
  self.connections_opened_.fetch_add(1);
  self.calls_sent_.fetch_add(1);
}

void RpcChannel::ConnectionFailed() {
  DropConnection();
  BackOff();
  FailFastCalls();
}

void RpcChannel::DropConnection() {
  if (context_ == nullptr) return;
  dropping_ = true;
  rpc_disconnect(context_, "connection dropped");  // completes every call in flight
  rpc_destroy_context(context_);
  dropping_ = false;
  context_ = nullptr;
  auth_slot_ = nullptr;
}

void RpcChannel::BackOff() {
  state_ = State::kBackingOff;
  next_attempt_ = Clock::now() + backoff_;
  backoff_ = std::min(backoff_ * 2, kBackoffMax);
}

void RpcChannel::FailFastCalls() {
  waiting_.remove_and_dispose_if([](const RpcCall& call) { return call.fail_if_unreachable; },
                                 [this](RpcCall* call) {
                                   call->connect_errno_ = connect_errno_;
                                   call->failure_text_ = connect_error_;
                                   call->Complete(CallOutcome::kUnreachable);
                                 });
}

void RpcChannel::ExpireOverdue(Clock::time_point now) {
  if (state_ == State::kConnecting && now >= connect_deadline_) {
    connect_errno_ = ETIMEDOUT;
    connect_error_ = "no answer";
    ConnectionFailed();
  }
  if (now < earliest_deadline_) return;
  bool overdue_in_flight = false;
  for (RpcCall& call : in_flight_) {
    call.expired_ = now >= call.deadline;
    overdue_in_flight |= call.expired_;
  }
  if (overdue_in_flight) {
    DropConnection();
    BackOff();
  }
  waiting_.remove_and_dispose_if([now](const RpcCall& call) { return now >= call.deadline; },
                                 [](RpcCall* call) { call->Complete(CallOutcome::kTimedOut); });
  earliest_deadline_ = Clock::time_point::max();
  for (const RpcCall& call : in_flight_) TrackDeadline(call);
  for (const RpcCall& call : waiting_) TrackDeadline(call);
}

void RpcChannel::TrackDeadline(const RpcCall& call) {
  earliest_deadline_ = std::min(earliest_deadline_, call.deadline);
}

}  // namespace nfswalk::protocol
