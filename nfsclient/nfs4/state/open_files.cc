#include "nfsclient/nfs4/state/open_files.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/state/open_file.h"
#include "nfsclient/nfs4/state/timed_mutex.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

using Clock = std::chrono::steady_clock;

// Limit of the time for closes and lock-owners that were given up, in one recovery.
constexpr std::chrono::seconds kRestMax{10};
// Limit of recoveries by one operation.
constexpr int kRecoveriesMax = 4;
// A state id lost sooner after its reopening is reopened only after a pause.
constexpr std::chrono::milliseconds kStableState{100};

// The name that a file was opened by, until the caller says where its names are kept.
class NameOfOpen final : public FileNames {
 public:
  NameOfOpen(const FileHandle& directory, std::string_view name)
      : name_{directory, std::string(name)} {}
  std::optional<FileName> NextName(std::span<const FileName> tried) const override {
    return tried.empty() ? std::optional(name_) : std::nullopt;
  }
  bool AreChanging() const override { return false; }

 private:
  const FileName name_;
};

}  // namespace

class OpenFiles::State final : public OpenState {
 public:
  State(std::shared_ptr<OpenFiles> files, std::shared_ptr<OpenFile> file)
      : files_(std::move(files)), file_(std::move(file)) {}
  ~State() override { files_->Close(file_); }

  bool can_be_shared() const override {
    return !file_->CurrentState().lost && file_->lost_lock_owners.load() == 0;
  }
  void FollowNames(std::unique_ptr<FileNames> names) override {
    file_->SetNames(std::move(names));
  }

  const std::shared_ptr<OpenFile>& file() const { return file_; }

 private:
  const std::shared_ptr<OpenFiles> files_;
  const std::shared_ptr<OpenFile> file_;
};

const std::shared_ptr<OpenFile>& OpenFiles::FileOf(const OpenState& state) {
  return static_cast<const State&>(state).file();
}

OpenFiles::OpenFiles(rpc::Caller& caller, const OwnerNames& names)
    : caller_(caller),
      opens_by_handle_(caller.has_sessions()),
      owners_(caller, names, [this] { return lease_.Current().generation; }),
      delegations_(std::make_shared<Delegations>(
          caller, [this] { return lease_.Current().generation; }, [this] { lease_.NoteLeft(); })),
      lock_owners_(caller),
      lease_(caller, *delegations_, [this](const LiveClient& client, Budget& budget) {
        return RecoverAll(client, budget);
      }) {}

std::errc OpenFiles::Establish(Budget& budget) {
  const auto client = lease_.Client(budget);
  return client ? kOk : client.error();
}

OpenFiles::Opened OpenFiles::Open(const Request& request, const Credential& credential,
                                  Budget& budget) {
  OpenArguments arguments;
  arguments.read = request.read;
  arguments.write = request.write;
  arguments.how = request.how;
  arguments.attributes = request.attributes;
  arguments.exclusive_verifier = request.exclusive_verifier;
  arguments.claim = request.name.empty() ? Claim::kFile : Claim::kName;
  arguments.name = request.name;
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const auto client = lease_.Client(budget);
    if (!client) return Failure<Opened>(client.error());
    const uint64_t epoch = delegations_->epoch();
    const bool asks_delegation = delegations_->Wants(request.ask) && lease_.can_be_called();
    using Asked = OpenArguments::Delegation;
    arguments.delegation = asks_delegation ? Asked::kRead : Asked::kNotSaid;
    Acquired acquired =
        owners_.Open(*client, request.at, arguments, credential, OnDelay::kRepeat, budget);
    if (owners_.unsettled() != 0) lease_.NoteLeft();
    const StateError state_error = StateErrorOf(acquired.status);
    if (ConcernsClient(state_error)) {
      const std::errc error = lease_.Regain(client->generation, state_error, budget);
      if (error != kOk) return Failure<Opened>(error);
      if (caller_.has_sessions()) --tries;  // not the call's: a session of it was replaced
      continue;
    }
    (void)RefusesHandles(arguments.claim, acquired.error);
    if (acquired.error != kOk) return Failure<Opened>(acquired.error);
    Opened opened{kOk,
                  acquired.handle,
                  acquired.attributes,
                  acquired.attributes_set,
                  acquired.granted,
                  acquired.directory,
                  nullptr};
    const uint64_t generation = lease_.GenerationOf(*client);
    if (acquired.delegation) {
      opened.delegation =
          delegations_->Take(*acquired.delegation, epoch, generation, acquired.handle, credential);
    } else if (asks_delegation) {
      delegations_->NoteRefused();
    }
    opened.state = Register(request, credential, generation, std::move(acquired));
    return opened;
  }
  return Failure<Opened>(std::errc::io_error);
}

std::unique_ptr<Delegation> OpenFiles::TakeDelegation(const std::optional<DelegationGrant>& grant,
                                                      uint64_t epoch, const FileHandle& directory,
                                                      const Credential& credential) {
  if (grant) {
    const uint64_t generation = lease_.Current().generation;
    return delegations_->Take(*grant, epoch, generation, directory, credential);
  }
  delegations_->NoteRefused();
  return nullptr;
}

std::unique_ptr<OpenState> OpenFiles::Register(const Request& request, const Credential& credential,
                                               uint64_t generation, Acquired acquired) {
  auto file = std::make_shared<OpenFile>();
  if (!request.name.empty()) {
    file->SetNames(std::make_unique<NameOfOpen>(request.at, request.name));
  }
  file->read = request.read;
  file->write = request.write;
  file->credential = credential;
  file->handle = acquired.handle;
  file->owner = std::move(acquired.owner);
  file->state = {.id = acquired.state, .generation = generation};
  {
    const std::lock_guard lock(mutex_);
    files_.insert(file);
  }
  lease_.FileOpened();
  return std::make_unique<State>(shared_from_this(), std::move(file));
}

void OpenFiles::Close(const std::shared_ptr<OpenFile>& file) {
  {
    const std::lock_guard lock(mutex_);
    files_.erase(file);
  }
  lease_.FileClosed();
  file->closed.store(true);
  file->SetNames(nullptr);
  if (stopped_.load()) return;
  Budget budget = caller_.NewBudget();
  CloseOnServer(*file, budget);
}

// Leaves it to the lease's thread where there is no answer in time.
void OpenFiles::CloseOnServer(OpenFile& file, Budget& budget) {
  if (TryCloseOnServer(file, budget)) return;
  {
    const std::lock_guard lock(mutex_);
    left_open_.push_back(file.shared_from_this());
  }
  lease_.NoteLeft();
}

// Returns false if it is to be tried again.
bool OpenFiles::TryCloseOnServer(OpenFile& file, Budget& budget) {
  const std::unique_lock lock(file.reopening, budget.deadline());
  if (!lock) return false;
  if (file.closed_on_server) return true;
  if (!ReleaseLocksOf(file, budget)) return false;
  const OpenFile::State now = file.CurrentState();
  // No CLOSE for an earlier client id: the server dropped its state.
  const bool is_open = !now.lost && now.generation == lease_.Current().generation;
  if (!stopped_.load() && is_open && !owners_.TryClose(file.owner, file.handle, now.id, budget)) {
    return false;
  }
  file.closed_on_server = true;
  return true;
}

// Returns whether a file is still left open.
bool OpenFiles::CloseLeft(Budget& budget) {
  std::vector<std::shared_ptr<OpenFile>> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(left_open_);
  }
  std::erase_if(files, [&](const auto& file) { return TryCloseOnServer(*file, budget); });
  const std::lock_guard lock(mutex_);
  left_open_.insert(left_open_.end(), files.begin(), files.end());
  return !left_open_.empty();
}

StateId OpenFiles::StateOf(const OpenState* state) {
  return state == nullptr ? StateId() : FileOf(*state)->CurrentState().id;
}

std::errc OpenFiles::Recover(const OpenState* state, const StateId& used, int status,
                             Budget& budget) {
  const StateError state_error = StateErrorOf(status);
  switch (state_error) {
    case StateError::kWait:
      return caller_.PauseForJukebox(budget);
    case StateError::kState:
    case StateError::kLeaseExpired:
    case StateError::kServerRestart:
      if (state == nullptr) break;
      return RecoverFile(*FileOf(*state), used, state_error, budget);
    case StateError::kNone:
    case StateError::kOwner:
      break;
  }
  return ErrnoOfStatus4(status);
}

std::errc OpenFiles::RecoverFile(OpenFile& file, const StateId& used, StateError state_error,
                                 Budget& budget) {
  const bool was_stable = Clock::now() - file.CurrentState().reopened >= kStableState;
  if (!was_stable && file.CurrentState().id == used) {
    const std::errc error = caller_.PauseForJukebox(budget);
    if (error != kOk) return error;
  }
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const OpenFile::State now = file.CurrentState();
    if (now.lost) return std::errc::io_error;
    if (now.id != used) return kOk;
    if (ConcernsClient(state_error)) {
      const std::errc error = lease_.Regain(now.generation, state_error, budget);
      if (error != kOk) return error;
      // The file may not be reopened yet under the new client id.
      state_error = StateError::kState;
      continue;
    }
    const auto client = lease_.Client(budget);
    if (!client) return client.error();
    const Reopened reopened = Reopen(file, used, *client, budget);
    if (reopened.error != kOk) return reopened.error;
    if (ConcernsClient(reopened.state_error)) {
      const std::errc error = lease_.Regain(client->generation, reopened.state_error, budget);
      if (error != kOk) return error;
      if (caller_.has_sessions()) --tries;  // as in Open()
    }
  }
  return std::errc::io_error;
}

std::vector<std::shared_ptr<OpenFile>> OpenFiles::OpenedBefore(uint64_t generation) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<OpenFile>> before;
  for (const std::shared_ptr<OpenFile>& file : files_) {
    const OpenFile::State now = file->CurrentState();
    if (now.generation < generation && !now.lost) before.push_back(file);
  }
  // Begins with others than the last time, which may have ended early.
  if (!before.empty()) {
    std::ranges::rotate(before, before.begin() + first_reopened_++ % before.size());
  }
  return before;
}

bool OpenFiles::MayReclaim(const LiveClient& client) const {
  return client.may_reclaim && reclaimed_generation_.load() < client.generation;
}

// As Lease::Recover. First all files of earlier client ids are reclaimed, then those opened by name
// that cannot be. Stops where the budget ends; who uses a file that is left reopens it.
Lease::Recovery OpenFiles::RecoverAll(const LiveClient& client, Budget& budget) {
  // Half of the time: what never gets a reply leaves some to the others.
  const Clock::time_point now = Clock::now();
  Budget half = budget.Until(now + (budget.deadline() - now) / 2);
  Lease::Recovery recovery{.state_error = owners_.Settle(client, half)};
  if (ConcernsClient(recovery.state_error)) return recovery;
  recovery = ReopenAll(client, budget);
  if (ConcernsClient(recovery.state_error)) return recovery;
  // Threads that hold a file or a lock-owner may wait for the server, with calls of their own.
  Budget brief = budget.Until(Clock::now() + kRestMax);
  const Lease::Recovery revoked = RecoverRevoked(client, brief);
  recovery.has_left |= revoked.has_left;
  recovery.has_found = revoked.has_found;
  if (ConcernsClient(revoked.state_error)) {
    recovery.state_error = revoked.state_error;
    return recovery;
  }
  recovery.has_left |= SettleLocks(brief);
  recovery.has_left |= CloseLeft(brief);
  recovery.has_left |= delegations_->ReturnLeft(brief);
  recovery.has_left |= owners_.unsettled() != 0;
  return recovery;
}

Lease::Recovery OpenFiles::ReopenAll(const LiveClient& client, Budget& budget) {
  std::unordered_set<const OpenFile*> left;
  for (const Reopening how : {Reopening::kReclaim, Reopening::kAnew}) {
    for (const std::shared_ptr<OpenFile>& file : OpenedBefore(client.generation)) {
      if (how == Reopening::kReclaim && !MayReclaim(client)) break;
      if (left.contains(file.get())) continue;
      const Reopened reopened =
          ReopenFile(how, *file, file->CurrentState().id, client, OnDelay::kReturn, budget);
      if (ConcernsClient(reopened.state_error)) return {reopened.state_error, true};
      if (rpc::Retry::OutOfTime(budget)) return {StateError::kNone, true};
      if (reopened.error != kOk || reopened.state_error == StateError::kWait) {
        left.insert(file.get());
      }
    }
    if (how != Reopening::kReclaim) continue;
    const bool waits = MayReclaim(client) && std::ranges::any_of(left, [&](const OpenFile* file) {
                         return file->reclaim_answered.load() < client.generation;
                       });
    const Lease::Recovery completed = lease_.CompleteReclaim(client, waits, budget);
    if (completed.has_left || completed.state_error != StateError::kNone) return completed;
  }
  return {StateError::kNone, !left.empty()};
}

// Reopens `file` if its state id is still `used`.
OpenFiles::Reopened OpenFiles::Reopen(OpenFile& file, const StateId& used, const LiveClient& client,
                                      Budget& budget) {
  if (MayReclaim(client) && file.CurrentState().generation < client.generation) {
    const Reopened reclaimed =
        ReopenFile(Reopening::kReclaim, file, used, client, OnDelay::kRepeat, budget);
    if (reclaimed.state_error != StateError::kNone || reclaimed.error != kOk) return reclaimed;
  }
  return ReopenFile(Reopening::kAnew, file, used, client, OnDelay::kRepeat, budget);
}

OpenFiles::Reopened OpenFiles::ReopenFile(Reopening how, OpenFile& file, const StateId& used,
                                          const LiveClient& client, OnDelay on_delay,
                                          Budget& budget) {
  // Another thread that reopens it may wait for as long as the server delays that.
  const Clock::time_point until = on_delay == OnDelay::kReturn ? Clock::now() : budget.deadline();
  std::unique_lock lock(file.reopening, until);
  if (!lock && on_delay == OnDelay::kReturn) return {kOk, StateError::kWait};
  if (!lock) return {CallDeadline::Error()};
  const Reopened reopened = ReopenLocked(how, file, used, client, on_delay, budget);
  lock.unlock();
  if (owners_.unsettled() != 0) lease_.NoteLeft();
  if (file.closed.load()) CloseOnServer(file, budget);
  return reopened;
}

// One OPEN that reopens `file`; `name`: of Claim::kName. Closes what is another file: its handle is
// in the result. Preconditions: file.reopening is held.
Acquired OpenFiles::TryReopen(OpenFile& file, Claim claim, const FileName& name,
                              const LiveClient& client, OnDelay on_delay, Budget& budget) {
  OpenArguments arguments;
  arguments.read = file.read;
  arguments.write = file.write;
  arguments.claim = claim;
  arguments.name = name.name;
  const FileHandle& at = claim == Claim::kName ? name.directory : file.handle;
  Acquired acquired = owners_.Open(client, at, arguments, file.credential, on_delay, budget);
  if (acquired.error == kOk && acquired.handle != file.handle) {
    owners_.Close(std::move(acquired.owner), acquired.handle, acquired.state, budget);
    acquired.error = kStale;
    acquired.status = NFS4ERR_FHEXPIRED;
  }
  return acquired;
}

// Preconditions: as above.
Acquired OpenFiles::TryReopenAnew(OpenFile& file, const LiveClient& client, OnDelay on_delay,
                                  Budget& budget) {
  if (can_open_by_handle()) {
    Acquired acquired = TryReopen(file, Claim::kFile, {}, client, on_delay, budget);
    if (!RefusesHandles(Claim::kFile, acquired.error)) return acquired;
  }
  return TryReopenByName(file, client, on_delay, budget);
}

// Returns whether an OPEN failed since the server knows no CLAIM_FH, which is not asked for again.
bool OpenFiles::RefusesHandles(Claim claim, std::errc error) {
  const bool refuses = claim == Claim::kFile && (error == std::errc::invalid_argument ||
                                                 error == std::errc::operation_not_supported);
  if (refuses) opens_by_handle_.store(false);
  return refuses;
}

// Reopens by each name that the file has now, until one opens it. While the names change, the
// server may already have another, which the client learns with the reply. Preconditions: as above.
Acquired OpenFiles::TryReopenByName(OpenFile& file, const LiveClient& client, OnDelay on_delay,
                                    Budget& budget) {
  Acquired acquired;
  acquired.error = kStale;
  acquired.status = NFS4ERR_NOENT;
  std::vector<FileName> tried;
  for (;;) {
    // Before the names: a change that has ended by then shows in them.
    const bool are_changing = file.NamesAreChanging();
    if (auto name = file.NextName(tried)) {
      acquired = TryReopen(file, Claim::kName, *name, client, on_delay, budget);
      const StateError state_error = StateErrorOf(acquired.status);
      const bool refused = acquired.error != kOk && acquired.status != NFS4_OK;
      if (!refused || ConcernsClient(state_error) || state_error == StateError::kWait) {
        return acquired;
      }
      tried.push_back(std::move(*name));
      continue;
    }
    if (!are_changing) return acquired;
    if (on_delay == OnDelay::kReturn) {
      acquired.status = NFS4ERR_DELAY;
      return acquired;
    }
    acquired.error = caller_.PauseForJukebox(budget);
    acquired.status = NFS4_OK;
    if (acquired.error != kOk) return acquired;
    tried.clear();
  }
}

// Preconditions: file.reopening is held.
OpenFiles::Reopened OpenFiles::ReopenLocked(Reopening how, OpenFile& file, const StateId& used,
                                            const LiveClient& client, OnDelay on_delay,
                                            Budget& budget) {
  OpenFile::State later = file.CurrentState();
  if (file.closed.load() || later.lost || later.id != used) return {};
  Acquired acquired = how == Reopening::kReclaim
                          ? TryReopen(file, Claim::kPrevious, {}, client, on_delay, budget)
                          : TryReopenAnew(file, client, on_delay, budget);
  const StateError state_error = StateErrorOf(acquired.status);
  if (ConcernsClient(state_error) || state_error == StateError::kWait) return {kOk, state_error};
  if (acquired.error != kOk && acquired.status == NFS4_OK) return {acquired.error};
  if (how == Reopening::kReclaim && acquired.error != kOk) {
    file.reclaim_answered.store(client.generation);
  }
  if (acquired.error == kOk) {
    const Reopened locks = RecoverLocks(how, file, acquired, client, on_delay, budget);
    if (locks.error != kOk || locks.state_error != StateError::kNone) {
      if (!ConcernsClient(locks.state_error)) {
        owners_.Close(std::move(acquired.owner), acquired.handle, acquired.state, budget);
      }
      return locks;
    }
    CloseEarlier(file, client);
    later.id = acquired.state;
    later.generation = lease_.GenerationOf(client);
    later.reopened = Clock::now();
    file.owner = std::move(acquired.owner);
  } else if (how == Reopening::kAnew || acquired.status == NFS4ERR_FHEXPIRED) {
    if (caller_.has_sessions()) CloseEarlier(file, client);
    later.lost = true;
  } else if (acquired.status == NFS4ERR_NO_GRACE) {
    reclaimed_generation_.store(client.generation);
  }
  file.SetState(later);
  return {};
}

// The server may have kept the earlier state, which keeps others out, or have revoked it.
// Preconditions: file.reopening is held.
void OpenFiles::CloseEarlier(OpenFile& file, const LiveClient& client) {
  const OpenFile::State earlier = file.CurrentState();
  if (earlier.generation != client.generation) return;
  owners_.CloseLater(std::move(file.owner), file.handle, earlier.id);
}

void OpenFiles::Shutdown() {
  stopped_.store(true);
  delegations_->Stop();
  lease_.Stop();
}

}  // namespace nfswalk::protocol
