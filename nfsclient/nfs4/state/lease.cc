#include "nfsclient/nfs4/state/lease.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <utility>

namespace nfswalk::protocol {
namespace {

// Limit of client ids replaced in a row by one call.
constexpr int kReplacementsMax = 4;
// Between two attempts at what is left: doubled each time, up to a third of the lease time.
constexpr std::chrono::milliseconds kPauseMin{100};
// A server that ends each session at once is not asked for another without a pause.
constexpr std::chrono::milliseconds kHurryPause{250};

}  // namespace

Lease::Lease(rpc::Caller& caller, Delegations& delegations, Recover recover)
    : caller_(caller),
      delegations_(delegations),
      recover_(std::move(recover)),
      ids_(ClientIds::Make(caller, delegations,
                           {.on_end = [this] { NoteEnded(); },
                            .on_revoked = [this] { NoteRevoked(); },
                            .on_due = [this] { NoteDue(); }})) {}

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
  Budget own = budget;
  own.EndWithSession();
  for (int made = 0; made < kReplacementsMax; ++made) {
    if (Current().generation != generation) return {};
    const std::errc error = Establish(state_error == StateError::kServerRestart, own);
    if (error != std::errc{}) return error;
    const LiveClient client = Current();
    if (client.generation == generation) return {};  // the server has kept all state
    const Recovery recovery = recover_(client, own);
    if (recovery.has_left) NoteLeft();
    if (!ConcernsClient(recovery.state_error)) return {};
    state_error = recovery.state_error;
    generation = client.generation;
  }
  return std::errc::io_error;
}

// Preconditions: replacing_ is held.
std::errc Lease::Establish(bool may_reclaim, Budget& budget) {
  const std::errc started = StartThread();
  if (started != std::errc{}) return started;
  const ClientIds::Granted granted = ids_->Get(Current().id, budget);
  if (granted.error != std::errc{}) return granted.error;
  SetClient(granted, may_reclaim);
  const ClientIds::LeaseReply begun = ids_->Begin(budget);
  if (begun.error == std::errc{}) {
    SetLease(granted.asked, begun.lease);
  } else {
    NoteEnded();
  }
  return {};
}

void Lease::SetClient(const ClientIds::Granted& granted, bool may_reclaim) {
  if (!granted.has_state) delegations_.EndAll();
  const std::lock_guard lock(mutex_);
  if (!granted.has_state) {
    live_ = {granted.id, live_.generation + 1, may_reclaim};
    established_ = granted.asked;
  }
  limits_ = granted.limits;
  has_ended_ = false;  // said of the last one, however late
  changed_.notify_all();
}

void Lease::SetLease(Clock::time_point began, std::chrono::seconds lease) {
  caller_.FitLease(lease);
  const std::lock_guard lock(mutex_);
  lease_time_ = lease;
  valid_until_.store(Clock::duration::zero());
  NoteRenewed(began);
  changed_.notify_all();
}

// Preconditions: mutex_.
void Lease::NoteRenewed(Clock::time_point asked) {
  const Clock::duration until =
      std::max(valid_until_.load(), (asked + lease_time_).time_since_epoch());
  valid_until_.store(until);
  const auto trusted = std::chrono::nanoseconds(until - lease_time_ / 10);
  trusted_until_ns_.store(static_cast<uint64_t>(std::max<int64_t>(trusted.count(), 0)));
}

LiveClient Lease::Current() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

CompoundLimits Lease::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

void Lease::FileOpened() {
  const std::lock_guard lock(mutex_);
  if (++files_open_ == 1) changed_.notify_all();
}

void Lease::FileClosed() {
  const std::lock_guard lock(mutex_);
  --files_open_;
}

// Another thread's, which may hold the mutex of a connection.
void Lease::NoteEnded() {
  delegations_.EndAll();
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

// As above.
void Lease::NoteRevoked() {
  if (!is_revoked_.exchange(true)) NoteLeft();
}

// As above.
void Lease::NoteDue() {
  const std::lock_guard lock(mutex_);
  is_due_ = true;
  changed_.notify_all();
}

Lease::Recovery Lease::CompleteReclaim(const LiveClient& client, bool has_left, Budget& budget) {
  if (!ids_->has_sessions()) return {};
  {
    const std::lock_guard lock(mutex_);
    if (reclaim_completed_ >= client.generation) return {};
    if (has_left && Clock::now() < established_ + lease_time_) return {.has_left = true};
  }
  const ClientIds::Status completed = ids_->CompleteReclaim(budget);
  if (completed.error != std::errc{}) return {StateErrorOf(completed.status), true};
  const std::lock_guard lock(mutex_);
  reclaim_completed_ = std::max(reclaim_completed_, client.generation);
  return {};
}

void Lease::NoteLeft() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  changed_.notify_all();
}

void Lease::Discard(Budget& budget) {
  if (!ids_->has_sessions()) return;
  const std::unique_lock replacing(replacing_, budget.deadline());
  if (!replacing) return;
  const LiveClient client = Current();
  if (client.generation != 0) ids_->Discard(client.id, budget);
}

void Lease::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void Lease::End() {
  Stop();
  ids_->End();
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

// Renews at each third of the lease time where RenewsNow(), gets a client id that has ended anew,
// and calls `recover` while something is left. It renews at once where the server waits for it. The
// first third begins with the first file, whose OPEN renews too.
void Lease::KeepAlive() {
  std::unique_lock lock(mutex_);
  constexpr Clock::time_point kNotDue{};
  Clock::time_point renewal_due = kNotDue;
  std::chrono::milliseconds pause = kPauseMin;
  uint64_t generation = 0;
  std::chrono::milliseconds lease_time{};
  Clock::time_point may_renew{};  // earlier the server that asks for it has to wait
  Clock::time_point may_hurry{};  // earlier a client id that has ended again has to wait
  while (!stopped_) {
    if (!has_left_ && !has_ended_) {
      pause = kPauseMin;
      if (!RenewsNow()) renewal_due = kNotDue;
    }
    const auto is_needed = [this] {
      return live_.generation != 0 && (RenewsNow() || has_left_ || has_ended_);
    };
    changed_.wait(lock, [&] { return stopped_ || is_needed(); });
    const Clock::time_point now = Clock::now();
    const bool had_left = has_left_, had_ended = has_ended_;
    if (std::exchange(generation, live_.generation) != live_.generation) {
      renewal_due = kNotDue;
      pause = kPauseMin;
    }
    if (std::exchange(lease_time, lease_time_) != lease_time_) renewal_due = kNotDue;
    if (renewal_due == kNotDue) renewal_due = now + lease_time_ / 3;
    const bool was_due = is_due_;
    if (was_due) renewal_due = std::max(now, may_renew);
    Clock::time_point due = renewal_due;
    if (had_left) due = std::min(due, now + pause);
    if (had_ended) due = now + std::min(pause, kHurryPause);
    const auto is_disturbed = [&] {
      return stopped_ || has_left_ != had_left || has_ended_ != had_ended || is_due_ != was_due ||
             live_.generation != generation || lease_time_ != lease_time;
    };
    const bool waits = !had_ended || now < may_hurry;
    if (waits && changed_.wait_until(lock, due, is_disturbed)) continue;
    if (stopped_ || !is_needed()) continue;
    const bool has_ended = std::exchange(has_ended_, false);
    if (has_ended) is_due_ = false;  // it was of that session
    const bool renews = !has_ended && Clock::now() >= renewal_due;
    if (renews) {
      renewal_due = kNotDue;
      is_due_ = false;
      may_renew = Clock::now() + kHurryPause;
    } else {
      pause = std::min(pause * 2, std::max(kPauseMin, lease_time_ / 3));
      if (!has_ended) has_left_ = false;
    }
    lock.unlock();
    if (has_ended) {
      ReplaceEnded();
      may_hurry = Clock::now() + kHurryPause;
    } else if (renews) {
      KeepClient();
    } else if (RecoverLeft().has_found) {
      pause = kPauseMin;
    }
    lock.lock();
  }
}

// A renewal without a reply is repeated after the next period.
void Lease::KeepClient() {
  Budget budget = caller_.NewBudget();
  budget.EndWithSession();
  (void)Confirm(Current().generation, budget);
  constexpr uint64_t kRenewalsOfPeriod = 3;  // a lease time
  if (++renewals_ % kRenewalsOfPeriod == 0) delegations_.EndIdle();
}

// Until that has succeeded calls wait for a session.
void Lease::ReplaceEnded() {
  Budget budget = caller_.NewBudget();
  const std::errc error = Replace(Current().generation, StateError::kServerRestart, budget);
  if (error != std::errc{}) NoteEnded();
}

// Holds a renewal up for no longer than an attempt at one, unless the client id is gone.
Lease::Recovery Lease::RecoverLeft() {
  const LiveClient client = Current();
  Budget budget = rpc::Retry::BudgetUntil(Clock::now() + AttemptMax());
  budget.EndWithSession();
  const Recovery recovery = recover_(client, budget);
  // It may not have come to what was revoked, which is told of once.
  if (recovery.has_left || is_revoked_.load()) NoteLeft();
  if (ConcernsClient(recovery.state_error)) {
    budget = caller_.NewBudget();
    (void)Regain(client.generation, recovery.state_error, budget);
  }
  return recovery;
}

std::errc Lease::Confirm(uint64_t generation, Budget& budget) {
  for (;;) {
    const LiveClient client = Current();
    if (client.generation != generation) return {};
    Budget attempts = budget;
    attempts.LimitAttempts(AttemptMax());
    const Clock::time_point asked = Clock::now();
    const ClientIds::Status renewed = ids_->Renew(client.id, attempts);
    const StateError state_error = StateErrorOf(renewed.status);
    if (ConcernsClient(state_error)) return Replace(generation, state_error, budget);
    if (renewed.error != std::errc{}) return renewed.error;
    if (renewed.status == NFS4_OK) {
      const std::lock_guard lock(mutex_);
      if (live_.generation != generation) return {};
      NoteRenewed(asked);
      return {};
    }
    // The session has ended, and its successor is asked; by its own thread once it has got that.
    if (budget.ends_with_session()) return std::errc::operation_canceled;
    const std::errc paused = caller_.PauseForJukebox(budget);
    if (paused != std::errc{}) return paused;
  }
}

// How long a connection may bring no reply to a renewal until it is replaced. With the third of the
// lease time before it, and the second attempt, which is twice as long, a sixth is left.
std::chrono::milliseconds Lease::AttemptMax() const {
  const std::lock_guard lock(mutex_);
  return lease_time_ / 6;
}

}  // namespace nfswalk::protocol
