#include "nfsclient/rpc/caller.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "nfsclient/rpc/failed_call.h"
#include "sunrpc_auth/auth_body.h"

namespace nfswalk::rpc {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kConnectionsMax = 16;
constexpr milliseconds kConnectTimeoutMin{3'000};  // more than SYN takes when it is sent twice
constexpr milliseconds kConnectTimeoutMax{10'000};
constexpr milliseconds kSilenceMin{10'000};

Timeouts TimeoutsOf(const protocol::TransportOptions& options) {
  const milliseconds timeo =
      std::max(milliseconds{100} * int64_t{options.timeo_ds}, milliseconds{100});
  return {.connect = std::clamp(timeo, kConnectTimeoutMin, kConnectTimeoutMax),
          .silence = std::max(timeo * (options.retrans + 1), kSilenceMin)};
}

}  // namespace

std::expected<std::unique_ptr<Caller>, std::errc> Caller::Open(
    const Endpoint& endpoint, const protocol::TransportOptions& options,
    std::shared_ptr<ServerLocator> locator) {
  char machine_name[sunrpc_auth::kMachineNameBytesMax + 1] = "";
  gethostname(machine_name, sizeof machine_name - 1);
  std::unique_ptr<Caller> caller(new Caller(endpoint, options, std::move(locator), machine_name));
  const uint32_t connections = std::clamp<uint32_t>(options.nconnect, 1, kConnectionsMax);
  for (uint32_t i = 0; i < connections; ++i) {
    auto connection = Connection::Open(endpoint, caller->timeouts_, caller->locator_);
    if (!connection) return std::unexpected(connection.error());
    caller->connections_.push_back(std::move(*connection));
  }
  caller->connections_used_.store(connections);
  return caller;
}

Caller::Caller(const Endpoint& endpoint, const protocol::TransportOptions& options,
               std::shared_ptr<ServerLocator> locator, std::string machine_name)
    : endpoint_(endpoint),
      timeouts_(TimeoutsOf(options)),
      locator_(std::move(locator)),
      machine_name_(std::move(machine_name)),
      retry_(options, endpoint.version) {}

Caller::~Caller() {
  if (back_channel_ != nullptr) back_channel_->End();
}

std::expected<void, protocol::ConnectError> Caller::Ping(const std::string& service,
                                                         const std::string& host,
                                                         Retry::Clock::time_point deadline) {
  constexpr uint32_t kNullProcedure = 0;  // of every program (RFC 5531 12.1)
  const Request request{.procedure = kNullProcedure};
  rpc::Call call(request);
  call.deadline = deadline;
  call.fail_if_unreachable = true;
  const Outcome outcome = connections_.front()->Execute(call);
  if (outcome == Outcome::kReplied) return {};
  return std::unexpected(ExplainFailedCall(call, outcome, service, host, endpoint_.port));
}

SendResult Caller::Send(rpc::Call& call, const sunrpc_auth::Credential& credential,
                        Budget& budget) {
  const auto body = sunrpc_auth::CachedAuthBody(credential, machine_name_);
  if (!body) return {body.error()};
  call.auth = *body;
  Retry::Attempts attempts = Retry::Attempts::NotSubmitted();
  SendResult sent;
  do sent = retry_.Send(LeastLoaded(), call, budget, attempts);
  while (sent.has_no_slot);
  return sent;
}

void Caller::Start(Started& started, const sunrpc_auth::Credential& credential) {
  const auto body = sunrpc_auth::CachedAuthBody(credential, machine_name_);
  if (!body) {
    started.error = body.error();
    return;
  }
  started.call.auth = *body;  // encoded when it is submitted
  started.connection = &LeastLoaded();
  started.connection->Submit(started.call);
}

std::optional<std::errc> Caller::Resume(Started& started, Budget& budget) {
  if (started.connection == nullptr) return started.error;
  for (;;) {
    const auto result = retry_.Resume(*started.connection, started.call, budget, started.attempts);
    if (!result) return std::nullopt;
    if (!result->has_no_slot) return result->error;
    started.connection = &LeastLoaded();
  }
}

// Round robin per thread among those with the least calls; threads start at different ones.
Connection& Caller::LeastLoaded() {
  const size_t count = connections_used_.load();
  if (count == 1) return *connections_.front();
  static std::atomic<uint32_t> threads{0};
  thread_local uint32_t turn = threads.fetch_add(1);
  const size_t first = turn++ % count;
  Connection* least = connections_[first].get();
  for (size_t i = 1; i < count; ++i) {
    Connection* other = connections_[(first + i) % count].get();
    if (other->load() < least->load()) least = other;
  }
  return *least;
}

void Caller::SetMinorVersion(uint32_t minor_version) {
  minor_version_ = minor_version;
  for (const auto& connection : connections_) connection->SetMinorVersion(minor_version);
}

void Caller::UseSession(const std::shared_ptr<const Session>& session) {
  const size_t count = std::min<size_t>(connections_.size(), session->slots);
  // A connection is not used for new calls before it has slots.
  connections_used_.store(std::min(connections_used_.load(), count));
  for (uint32_t i = 0; i < count; ++i) {
    connections_[i]->UseSession(session, i, static_cast<uint32_t>(count));
  }
  for (size_t i = count; i < connections_.size(); ++i) connections_[i]->UseNoSlot();
  connections_used_.store(count);
}

void Caller::EndSession(uint64_t generation) {
  for (const auto& connection : connections_) connection->EndSession(generation);
}

std::shared_ptr<BackChannel> Caller::OpenBackChannel(BackChannel::Service service) {
  const auto body =
      sunrpc_auth::CachedAuthBody(sunrpc_auth::Credential::OfProcess(), machine_name_);
  if (!body) return nullptr;
  std::string credential((*body)->bytes.data(), (*body)->size);
  auto opened =
      BackChannel::Open(endpoint_, timeouts_, locator_, std::move(credential), std::move(service));
  if (!opened) return nullptr;
  back_channel_ = std::move(*opened);
  return back_channel_;
}

void Caller::FitLease(milliseconds lease) {
  for (const auto& connection : connections_) connection->FitLease(lease);
  if (back_channel_ != nullptr) back_channel_->FitLease(lease);
}

void Caller::Shutdown() {
  retry_.Shutdown();
  for (const auto& connection : connections_) connection->Shutdown();
  if (back_channel_ != nullptr) back_channel_->Shutdown();
}

uint64_t Caller::calls_sent() const {
  uint64_t sum = 0;
  for (const auto& connection : connections_) sum += connection->calls_sent();
  return sum;
}

protocol::TransportStats Caller::Stats(std::span<const std::string_view> names) const {
  ReplyCounts replies;
  for (const auto& connection : connections_) replies.Add(connection->replies());
  protocol::TransportStats stats{
      .procedures = {}, .retries = retries(), .connections_opened = connections_opened()};
  if (back_channel_ != nullptr) {
    stats.has_back_channel = back_channel_->is_bound();
    stats.callbacks = back_channel_->calls();
  }
  for (size_t kind = 0; kind < names.size(); ++kind) {
    const auto& [count, total_ns, max_ns] = replies[kind];
    if (count != 0) stats.procedures.push_back({names[kind], count, total_ns, max_ns});
  }
  return stats;
}

uint64_t Caller::connections_opened() const {
  uint64_t sum = 0;
  for (const auto& connection : connections_) sum += connection->connections_opened();
  return sum;
}

}  // namespace nfswalk::rpc
