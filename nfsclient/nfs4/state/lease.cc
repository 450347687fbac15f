#include "nfsclient/nfs4/state/lease.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"

namespace nfswalk::protocol {
namespace {

// Limit of client ids replaced in a row by one call.
constexpr int kReplacementsMax = 4;
// Limit of attempts at one client id.
constexpr int kTriesMax = 4;
// Used if the server sends no lease time.
constexpr std::chrono::seconds kDefaultLease{90};
// A server that says more is not believed (MAX_LEASE_PERIOD).
constexpr std::chrono::seconds kLeaseMax{3600};
// Between two attempts at what is left: doubled each time, up to a third of the lease time.
constexpr std::chrono::milliseconds kPauseMin{100};

uint64_t Random() { return uint64_t{arc4random()} << 32 | arc4random(); }

// Host and process identify the client in the server's list of clients.
std::string NewId() {
  constexpr size_t kHostBytesMax = 64;
  char host[kHostBytesMax + 1] = "";
  gethostname(host, kHostBytesMax);
  return "nfswalk " + std::string(host) + ' ' + std::to_string(getpid()) + ' ' +
         std::to_string(Random());
}

struct StatusReply {
  std::errc error{};
  int status = 0;  // nfsstat4, if there was a reply
};
struct OfferReply : StatusReply {
  ClientIdGrant grant;
};
struct ConfirmReply : StatusReply {
  std::chrono::seconds lease = kDefaultLease;
};

void SetStatus(const CompoundReader& reader, StatusReply& reply) {
  reply.error = reader.error();
  reply.status = reader.status();
}

void DecodeOffer(CompoundReader& reader, OfferReply& reply) {
  TakeClientId(reader, reply.grant);
  SetStatus(reader, reply);
}

void DecodeConfirmation(CompoundReader& reader, ConfirmReply& reply) {
  reader.Next(OP_SETCLIENTID_CONFIRM);
  SetStatus(reader, reply);
  ServerAttributes server;
  if (reader.Next(OP_PUTROOTFH) && TakeLimits(reader, server)) {
    reply.lease = std::min(std::chrono::seconds(server.lease_seconds), kLeaseMax);
  }
}

void DecodeRenewal(CompoundReader& reader, StatusReply& reply) {
  reader.Next(OP_RENEW);
  SetStatus(reader, reply);
}

}  // namespace

Lease::Lease(rpc::Caller& caller, Recover recover)
    : caller_(caller),
      recover_(std::move(recover)),
      credential_(sunrpc_auth::Credential::OfProcess()),
      verifier_(Random()),
      id_(NewId()) {}

std::expected<LiveClient, std::errc> Lease::Client(Budget& budget) {
  if (Current().generation == 0) {
    const std::errc error = Replace(0, StateError::kNone, budget);
    if (error != std::errc{}) return std::unexpected(error);
  }
  return Current();
}

std::errc Lease::Replace(uint64_t generation, StateError state_error, Budget& budget) {
  const std::unique_lock replacing(replacing_, budget.deadline());
  if (!replacing) return CallDeadline::Error();
  for (int made = 0; made < kReplacementsMax; ++made) {
    if (Current().generation != generation) return {};
    const std::errc error = Establish(state_error == StateError::kServerRestart, budget);
    if (error != std::errc{}) return error;
    const LiveClient client = Current();
    const Recovery recovery = recover_(client, budget);
    if (recovery.has_left) NoteLeft();
    if (!ConcernsClient(recovery.state_error)) return {};
    state_error = recovery.state_error;
    generation = client.generation;
  }
  return std::errc::io_error;
}

// Sends SETCLIENTID and SETCLIENTID_CONFIRM, which is safe to repeat (RFC 7530 16.34).
// Preconditions: replacing_ is held.
std::errc Lease::Establish(bool may_reclaim, Budget& budget) {
  const std::errc started = StartThread();
  if (started != std::errc{}) return started;
  StatusReply last;
  for (int tries = 0; tries < kTriesMax; ++tries) {
    Compound offer;
    offer.SetClientId(verifier_, id_);
    const auto offered = CallCompound<OfferReply>(caller_, offer, credential_, budget, DecodeOffer);
    last = offered;
    if (offered.error == std::errc{}) {
      const Clock::time_point asked = Clock::now();
      Compound confirmation;
      confirmation.ConfirmClientId(offered.grant.client_id, offered.grant.verifier);
      confirmation.PutRoot().GetLimits();
      const auto confirmed = CallCompound<ConfirmReply>(caller_, confirmation, credential_, budget,
                                                        DecodeConfirmation);
      last = confirmed;
      if (confirmed.error == std::errc{}) {
        SetClient(offered.grant.client_id, asked, confirmed.lease, may_reclaim);
        return {};
      }
    }
    // The id string is in use under another credential.
    if (last.status == NFS4ERR_CLID_INUSE) {
      id_ = NewId();
    } else if (last.status != NFS4ERR_STALE_CLIENTID) {  // the server restarted between the two
      break;
    }
  }
  return last.error;
}

void Lease::SetClient(uint64_t id, Clock::time_point asked, std::chrono::seconds lease,
                      bool may_reclaim) {
  caller_.FitLease(lease);
  const std::lock_guard lock(mutex_);
  live_ = {id, live_.generation + 1, may_reclaim};
  lease_time_ = lease;
  valid_until_.store((asked + lease).time_since_epoch());
  changed_.notify_all();
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

void Lease::NoteLeft() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  changed_.notify_all();
}

void Lease::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void Lease::End() {
  Stop();
  if (thread_.joinable()) thread_.join();
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

// Renews at each third of the lease time while a file is open, and calls `recover` while something
// is left. The first third begins with the first file, whose OPEN renews too.
void Lease::KeepAlive() {
  std::unique_lock lock(mutex_);
  std::optional<Clock::time_point> renewal_due;
  std::chrono::milliseconds pause = kPauseMin;
  uint64_t generation = 0;
  while (!stopped_) {
    const bool had_left = has_left_;
    if (files_open_ == 0 && !had_left) renewal_due.reset();
    if (!had_left) pause = kPauseMin;
    const auto is_needed = [this] {
      return live_.generation != 0 && (files_open_ > 0 || has_left_);
    };
    changed_.wait(lock, [&] { return stopped_ || is_needed(); });
    const Clock::time_point now = Clock::now();
    if (std::exchange(generation, live_.generation) != live_.generation) renewal_due.reset();
    if (!renewal_due) renewal_due = now + lease_time_ / 3;
    const Clock::time_point due = has_left_ ? std::min(*renewal_due, now + pause) : *renewal_due;
    const bool awaits_left = !has_left_;
    const auto is_disturbed = [&] {
      return stopped_ || (awaits_left && has_left_) || live_.generation != generation;
    };
    if (changed_.wait_until(lock, due, is_disturbed) || !is_needed()) continue;
    const bool renews = Clock::now() >= *renewal_due;
    if (renews) {
      renewal_due.reset();
    } else {
      pause = std::min(pause * 2, std::max(kPauseMin, lease_time_ / 3));
      has_left_ = false;
    }
    lock.unlock();
    renews ? KeepClient() : RecoverLeft();
    lock.lock();
  }
}

// A renewal without a reply is repeated after the next period.
void Lease::KeepClient() {
  Budget budget = caller_.NewBudget();
  (void)Confirm(Current().generation, budget);
}

// Holds a renewal up for no longer than an attempt at one, unless the client id is gone.
void Lease::RecoverLeft() {
  const LiveClient client = Current();
  Budget budget = rpc::Retry::BudgetUntil(Clock::now() + AttemptMax());
  const Recovery recovery = recover_(client, budget);
  if (recovery.has_left) NoteLeft();
  if (!ConcernsClient(recovery.state_error)) return;
  budget = caller_.NewBudget();
  (void)Regain(client.generation, recovery.state_error, budget);
}

std::errc Lease::Confirm(uint64_t generation, Budget& budget) {
  const LiveClient client = Current();
  if (client.generation != generation) return {};
  Compound compound;
  compound.Renew(client.id);
  Budget attempts = budget;
  attempts.LimitAttempts(AttemptMax());
  const Clock::time_point asked = Clock::now();
  const auto renewed =
      CallCompound<StatusReply>(caller_, compound, credential_, attempts, DecodeRenewal);
  const StateError state_error = StateErrorOf(renewed.status);
  if (ConcernsClient(state_error)) return Replace(generation, state_error, budget);
  // Who has no path for callbacks is told so, and keeps the lease (RFC 7530 16.28).
  const bool is_renewed = renewed.error == std::errc{} || renewed.status == NFS4ERR_CB_PATH_DOWN;
  if (!is_renewed) return renewed.error;
  const std::lock_guard lock(mutex_);
  if (live_.generation == generation) {
    valid_until_.store(std::max(valid_until_.load(), (asked + lease_time_).time_since_epoch()));
  }
  return {};
}

// How long a connection may bring no reply to a renewal until it is replaced. With the third of the
// lease time before it, and the second attempt, which is twice as long, a sixth is left.
std::chrono::milliseconds Lease::AttemptMax() const {
  const std::lock_guard lock(mutex_);
  return lease_time_ / 6;
}

}  // namespace nfswalk::protocol
