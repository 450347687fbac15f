#include "nfsclient/protocol/nfs4_lease.h"

#include <utility>

namespace nfswalk::protocol {
namespace {

// Limit of client ids replaced in a row by one call.
constexpr int kReplacementsMax = 4;

}  // namespace

Lease::Lease(RpcCaller& caller, ReopenAll reopen_all)
    : caller_(caller), reopen_all_(std::move(reopen_all)), identity_(caller) {}

void Lease::Join() {
  if (thread_.joinable()) thread_.join();
}

std::expected<LiveClient, std::errc> Lease::Client(RpcCaller::Budget& budget) {
  if (Current().generation == 0) {
    const std::errc error = Replace(0, StateError::kNone, budget);
    if (error != std::errc{}) return std::unexpected(error);
  }
  return Current();
}

std::errc Lease::Replace(uint64_t generation, StateError state_error, RpcCaller::Budget& budget) {
  const std::lock_guard replacing(replacing_);
  for (int made = 0; made < kReplacementsMax; ++made) {
    if (Current().generation != generation) return {};
    const std::errc error = EstablishClientId(state_error == StateError::kServerRestart, budget);
    if (error != std::errc{}) return error;
    const LiveClient client = Current();
    state_error = reopen_all_(client, budget);
    if (!ConcernsClient(state_error)) return {};
    generation = client.generation;
  }
  return std::errc::io_error;
}

// Preconditions: replacing_ is held.
std::errc Lease::EstablishClientId(bool may_reclaim, RpcCaller::Budget& budget) {
  const std::errc started = StartThread();
  if (started != std::errc{}) return started;
  const ClientIdentity::Grant made = identity_.Establish(budget);
  if (made.error != std::errc{}) return made.error;
  const std::lock_guard lock(mutex_);
  live_ = {made.client_id, live_.generation + 1, may_reclaim};
  period_ = std::chrono::milliseconds(made.lease) / 3;
  changed_.notify_all();
  return {};
}

LiveClient Lease::Current() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

void Lease::FileOpened() {
  const std::lock_guard lock(mutex_);
  if (++files_open_ == 1) changed_.notify_all();
}

void Lease::FileClosed() {
  const std::lock_guard lock(mutex_);
  --files_open_;
}

void Lease::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::errc Lease::StartThread() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return std::errc::operation_canceled;
  }
  if (thread_.joinable()) return {};
  try {
    thread_ = std::thread(&Lease::KeepAlive, this);
  } catch (const std::system_error& failure) {
    return std::errc{failure.code().value()};
  }
  return {};
}

// Renews every period_ while a file is open. The first period begins with the first file, whose
// OPEN renews too.
void Lease::KeepAlive() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    changed_.wait(lock, [this] { return stopped_ || (files_open_ > 0 && live_.generation != 0); });
    const Clock::time_point due = Clock::now() + period_;
    if (changed_.wait_until(lock, due, [this] { return stopped_; })) return;
    if (files_open_ == 0) continue;
    lock.unlock();
    Renew();
    lock.lock();
  }
}

// A renewal without a reply is repeated after the next period.
void Lease::Renew() {
  const LiveClient client = Current();
  RpcCaller::Budget budget = caller_.NewBudget();
  const ClientIdentity::Renewal renewed = identity_.Renew(client.id, budget);
  const StateError state_error = StateErrorOf(renewed.status);
  if (ConcernsClient(state_error)) (void)Replace(client.generation, state_error, budget);
}

}  // namespace nfswalk::protocol
