#include "nfsclient/protocol/rpc_caller.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "sunrpc_auth/auth_body.h"

namespace nfswalk::protocol {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kConnectionsMax = 16;
constexpr milliseconds kConnectTimeoutMax{10'000};

}  // namespace

std::expected<std::unique_ptr<RpcCaller>, std::errc> RpcCaller::Open(
    const RpcEndpoint& endpoint, const TransportOptions& options) {
  char machine_name[sunrpc_auth::kMachineNameBytesMax + 1] = "";
  gethostname(machine_name, sizeof machine_name - 1);
  std::unique_ptr<RpcCaller> caller(new RpcCaller(options, machine_name));
  const milliseconds connect_timeout = std::clamp(milliseconds{100} * int64_t{options.timeo_ds},
                                                  milliseconds{100}, kConnectTimeoutMax);
  const uint32_t connections = std::clamp<uint32_t>(options.nconnect, 1, kConnectionsMax);
  for (uint32_t i = 0; i < connections; ++i) {
    auto channel = RpcChannel::Open(endpoint, connect_timeout);
    if (!channel) return std::unexpected(channel.error());
    caller->channels_.push_back(std::move(*channel));
  }
  return caller;
}

RpcCaller::RpcCaller(const TransportOptions& options, std::string machine_name)
    : machine_name_(std::move(machine_name)), retry_(options) {}

SendResult RpcCaller::Send(RpcCall& call, const sunrpc_auth::Credential& credential, Repeat repeat,
                           Budget& budget) {
  const auto body = sunrpc_auth::MarshalAuthBody(credential, machine_name_, 0);
  if (!body) return {SendResult::Kind::kFailed, body.error()};
  call.auth = &*body;
  return retry_.Send(NextChannel(), call, repeat == Repeat::kIdempotent, budget);
}

// Round robin per thread, without a shared counter; threads start at different connections.
RpcChannel& RpcCaller::NextChannel() {
  static std::atomic<uint32_t> threads{0};
  thread_local uint32_t turn = threads.fetch_add(1);
  return *channels_[turn++ % channels_.size()];
}

void RpcCaller::Shutdown() {
  retry_.Shutdown();
  for (const auto& channel : channels_) channel->Shutdown();
}

uint64_t RpcCaller::calls_sent() const {
  uint64_t sum = 0;
  for (const auto& channel : channels_) sum += channel->calls_sent();
  return sum;
}

uint64_t RpcCaller::connections_opened() const {
  uint64_t sum = 0;
  for (const auto& channel : channels_) sum += channel->connections_opened();
  return sum;
}

}  // namespace nfswalk::protocol
