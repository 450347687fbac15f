#include "nfsclient/nfs4/state/lease.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <unistd.h>

#include <cstdlib>
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
    reply.lease = std::chrono::seconds(server.lease_seconds);
  }
}

void DecodeRenewal(CompoundReader& reader, StatusReply& reply) {
  reader.Next(OP_RENEW);
  SetStatus(reader, reply);
}

}  // namespace

Lease::Lease(rpc::Caller& caller, ReopenAll reopen_all)
    : caller_(caller),
      reopen_all_(std::move(reopen_all)),
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
    state_error = reopen_all_(client, budget);
    if (!ConcernsClient(state_error)) return {};
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
      Compound confirmation;
      confirmation.ConfirmClientId(offered.grant.client_id, offered.grant.verifier);
      confirmation.PutRoot().GetLimits();
      const auto confirmed = CallCompound<ConfirmReply>(caller_, confirmation, credential_, budget,
                                                        DecodeConfirmation);
      last = confirmed;
      if (confirmed.error == std::errc{}) {
        SetClient(offered.grant.client_id, confirmed.lease, may_reclaim);
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

void Lease::SetClient(uint64_t id, std::chrono::seconds lease, bool may_reclaim) {
  const std::lock_guard lock(mutex_);
  live_ = {id, live_.generation + 1, may_reclaim};
  period_ = std::chrono::milliseconds(lease) / 3;
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
  Compound compound;
  compound.Renew(client.id);
  Budget budget = caller_.NewBudget();
  const auto renewed =
      CallCompound<StatusReply>(caller_, compound, credential_, budget, DecodeRenewal);
  const StateError state_error = StateErrorOf(renewed.status);
  if (ConcernsClient(state_error)) (void)Replace(client.generation, state_error, budget);
}

}  // namespace nfswalk::protocol
