// Byte-range locks of open files, and their recovery (RFC 7530 9.4 to 9.6, 9.11).
#include <chrono>
#include <utility>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

namespace nfswalk::protocol {
namespace {

using Clock = std::chrono::steady_clock;

// Limit of recoveries by one call.
constexpr int kRecoveriesMax = 4;

struct TestReply : LockReply {
  int status = 0;
};

}  // namespace

bool OpenFiles::HasLostLocks(const OpenState* state) {
  return state != nullptr && FileOf(*state)->lost_lock_owners.load() != 0;
}

std::errc OpenFiles::ConfirmLocks(const OpenState& state, Budget& budget) {
  OpenFile& file = *FileOf(state);
  std::errc error = lease_.ConfirmIfOverdue(budget);
  const OpenFile::State now = file.CurrentState();
  // Its locks are not reclaimed yet.
  if (error == kOk && now.generation != lease_.Current().generation) {
    error = RecoverFile(file, now.id, StateError::kState, budget);
  }
  if (error != kOk) return error;
  return HasLostLocks(&state) ? std::errc::io_error : kOk;
}

// Settles the calls of lock-owners that were given up. Returns whether one is left.
bool OpenFiles::SettleLocks(Budget& budget) {
  bool has_left = false;
  for (const std::shared_ptr<LockOwner>& owner : lock_owners_.All()) {
    if (!owner->was_given_up.load()) continue;
    const LockTurn turn(*owner, budget.deadline());
    LockAttempt attempt;
    if (turn && !owner->is_settled()) (void)BeginLockCall(*owner, attempt, budget);
    const bool is_settled = turn && (owner->is_settled() || owner->retired);
    if (is_settled) owner->was_given_up.store(false);
    has_left |= !is_settled;
  }
  return has_left;
}

// The state id of a lock-owner has expired. Returns once its locks are lost, with the client id or
// without: the open file may be as good as before.
std::errc OpenFiles::LoseExpiredLocks(LockOwner& owner, const StateId& used, Budget& budget) {
  const uint64_t generation = lease_.Current().generation;
  const std::errc error = lease_.Confirm(generation, budget);
  if (error != kOk || lease_.Current().generation != generation) return error;
  const std::unique_lock calling(owner.calling, budget.deadline());
  if (!calling) return CallDeadline::Error();
  if (owner.known && owner.state == used) lock_owners_.LoseRevoked(owner, budget);
  return kOk;
}

// Repeats `attempt(owner)` of the lock-owner that `find()` returns, if any, until it has ended.
template <typename Find, typename Try>
OpenFiles::LockAttempt OpenFiles::RepeatLockCall(Budget& budget, Find find, Try attempt) {
  for (int recoveries = 0; recoveries < kRecoveriesMax;) {
    const std::shared_ptr<LockOwner> owner = find();
    if (owner == nullptr) return {};
    LockAttempt made = attempt(*owner);
    if (made.is_unanswered) {
      owner->was_given_up.store(true);
      lease_.NoteLeft();
    }
    if (made.error == kOk && made.retired) continue;
    if (made.error != kOk || made.state_error == StateError::kNone) return made;
    OpenFile& file = *owner->file;
    if (made.state_error == StateError::kWait) {
      made.error = caller_.PauseForJukebox(budget);
    } else if (made.expired_lock) {
      ++recoveries;
      made.error = LoseExpiredLocks(*owner, *made.expired_lock, budget);
    } else {
      ++recoveries;
      made.error = RecoverFile(file, made.used, made.state_error, budget);
    }
    if (file.closed.load()) CloseOnServer(file, budget);
    if (made.error != kOk) return made;
  }
  return {std::errc::io_error};
}

LockReply OpenFiles::Lock(const OpenState& state, uint64_t number, const RangeLock& wanted,
                          Budget& budget) {
  const LockAttempt made = RepeatLockCall(
      budget, [&] { return lock_owners_.FindOrMake(FileOf(state), number); },
      [&](LockOwner& owner) { return TryLock(owner, wanted, budget); });
  return {made.error, made.conflict};
}

std::errc OpenFiles::Unlock(const OpenState& state, uint64_t number, ByteRange range,
                            Budget& budget) {
  return RepeatLockCall(
             budget, [&] { return lock_owners_.Find(FileOf(state)->handle, number); },
             [&](LockOwner& owner) { return TryUnlock(owner, range, false, budget); })
      .error;
}

std::errc OpenFiles::ReleaseLocks(const OpenState& state, uint64_t number, Budget& budget) {
  return RepeatLockCall(
             budget, [&] { return lock_owners_.Find(FileOf(state)->handle, number); },
             [&](LockOwner& owner) { return TryUnlock(owner, {}, true, budget); })
      .error;
}

// Settles what is unanswered. False: `attempt` says why there is nothing to send. Preconditions:
// its turn.
bool OpenFiles::BeginLockCall(LockOwner& owner, LockAttempt& attempt, Budget& budget) {
  OpenFile& file = *owner.file;
  const LiveClient client = lease_.Current();
  const OpenFile::State now = file.CurrentState();
  attempt.used = now.id;
  attempt.retired = owner.retired;
  if (owner.retired || owner.lost) return false;
  // Its thread is about to retire the owner.
  if (file.closed.load()) {
    attempt.state_error = StateError::kWait;
    return false;
  }
  if (now.lost) {
    lock_owners_.Lose(owner);
    attempt.error = std::errc::io_error;
    return false;
  }
  // Not reopened yet.
  if (now.generation != client.generation) {
    attempt.state_error = StateError::kState;
    return false;
  }
  const LockOwners::Opener opener{file.owner, now.id, client.id};
  if (!owner.known && file.first_lock_unanswered && !owner.unanswered) {
    for (const auto& other : lock_owners_.Of(file)) {
      if (other.get() == &owner) continue;
      const std::unique_lock calling(other->calling, budget.deadline());
      attempt.error = calling ? lock_owners_.Settle(*other, opener, budget) : CallDeadline::Error();
      if (attempt.error != kOk) return false;
    }
  }
  attempt.error = lock_owners_.Settle(owner, opener, budget);
  attempt.is_unanswered = attempt.error != kOk;
  attempt.retired = owner.retired;
  if (attempt.error != kOk || attempt.retired) return false;
  if (!owner.is_settled()) attempt.state_error = StateError::kWait;
  return owner.is_settled();
}

OpenFiles::LockAttempt OpenFiles::TryLock(LockOwner& owner, const RangeLock& wanted,
                                          Budget& budget) {
  LockAttempt attempt;
  const LockTurn turn(owner, budget.deadline());
  if (!turn) return {CallDeadline::Error()};
  if (!BeginLockCall(owner, attempt, budget)) {
    if (owner.lost && !owner.retired) attempt.error = std::errc::io_error;
    return attempt;
  }
  const bool first = !owner.known;
  const StateId lock_state = owner.state;
  const LockOwners::Opener opener{owner.file->owner, attempt.used, lease_.Current().id};
  const LockOwners::Answer answer =
      lock_owners_.Send(owner, {LockCall::Kind::kLock, wanted}, opener, budget);
  attempt.error = answer.error;
  attempt.is_unanswered = answer.error != kOk;
  attempt.conflict = answer.conflict;
  if (answer.error != kOk) return attempt;
  const StateError state_error = StateErrorOf(answer.status);
  switch (state_error) {
    case StateError::kNone:
      attempt.error = answer.status == NFS4ERR_OPENMODE ? std::errc::bad_file_descriptor
                                                        : ErrnoOfStatus4(answer.status);
      break;
    case StateError::kOwner:
    case StateError::kState:
      // The error is about the open file's state if it is the owner's first lock.
      if (first) {
        attempt.state_error = StateError::kState;
        break;
      }
      lock_owners_.LoseRevoked(owner, budget);
      // With nothing to lose another lock-owner does as well.
      attempt.retired = owner.retired;
      if (!attempt.retired) attempt.error = std::errc::io_error;
      break;
    default:
      attempt.state_error = state_error;
      if (state_error == StateError::kLeaseExpired && !first) attempt.expired_lock = lock_state;
  }
  if (first && attempt.state_error == StateError::kNone) lock_owners_.RetireIfUnused(owner);
  return attempt;
}

// `release`: the owner is not used any more.
OpenFiles::LockAttempt OpenFiles::TryUnlock(LockOwner& owner, ByteRange range, bool release,
                                            Budget& budget) {
  LockAttempt attempt;
  const LockTurn turn(owner, budget.deadline());
  if (!turn) return {CallDeadline::Error()};
  if (!BeginLockCall(owner, attempt, budget)) {
    if (!owner.lost || owner.retired) return attempt;
    lock_owners_.Forget(owner, range);
    return {};
  }
  const LockOwners::Opener opener{owner.file->owner, attempt.used, lease_.Current().id};
  LockOwners::Answer answer;
  const StateId lock_state = owner.state;
  if (owner.ranges.Overlaps(range)) {
    answer = lock_owners_.Send(owner, {LockCall::Kind::kUnlock, {LockType::kWrite, range}}, opener,
                               budget);
  }
  if (answer.error != kOk) return {.error = answer.error, .is_unanswered = true};
  const StateError state_error = StateErrorOf(answer.status);
  switch (state_error) {
    case StateError::kNone:
      attempt.error = ErrnoOfStatus4(answer.status);
      break;
    case StateError::kOwner:
    case StateError::kState:
      // The server no longer has any lock of this owner.
      lock_owners_.LoseRevoked(owner, budget);
      if (owner.lost) lock_owners_.Forget(owner, range);
      return {};
    default:
      attempt.state_error = state_error;
      if (state_error == StateError::kLeaseExpired) attempt.expired_lock = lock_state;
  }
  if (answer.status != NFS4_OK || !owner.ranges.empty()) return attempt;
  if (release || lock_owners_.Of(*owner.file).size() > LockOwners::kIdleMax) {
    lock_owners_.Release(owner, opener, budget);
  }
  return attempt;
}

LockReply OpenFiles::TestLock(const OpenState& state, uint64_t number, const RangeLock& wanted,
                              Budget& budget) {
  OpenFile& file = *FileOf(state);
  std::string name;
  if (const auto owner = lock_owners_.Find(file.handle, number)) {
    const std::unique_lock calling(owner->calling, budget.deadline());
    if (!calling) return {CallDeadline::Error()};
    if (owner->lost) return {std::errc::io_error};
    name = owner->name;
  }
  if (name.empty()) name = lock_owners_.NewName();
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const auto client = lease_.Client(budget);
    if (!client) return {client.error()};
    Compound compound;
    compound.PutHandle(file.handle).TestLock(wanted, client->id, name);
    const auto reply = CallCompound<TestReply>(caller_, compound, file.credential, budget,
                                               [](CompoundReader& reader, TestReply& tested) {
                                                 if (reader.Next(OP_PUTFH) && reader.Next(OP_LOCKT))
                                                   return;
                                                 tested.status = reader.status();
                                                 tested.conflict = TakeDenied(reader);
                                                 tested.error = reader.error();
                                               });
    const StateError state_error = StateErrorOf(reply.status);
    if (!ConcernsClient(state_error)) return reply;
    const std::errc error = lease_.Regain(client->generation, state_error, budget);
    if (error != kOk) return {error};
  }
  return {std::errc::io_error};
}

// Before the file that was reopened as `opened` is used. Preconditions: file.reopening is held.
OpenFiles::Reopened OpenFiles::RecoverLocks(Reopening how, OpenFile& file, Acquired& opened,
                                            const LiveClient& client, OnDelay on_delay,
                                            Budget& budget) {
  const LockOwners::Opener opener{opened.owner, opened.state, client.id};
  file.first_lock_unanswered = false;
  Reopened recovered;
  const auto owners = lock_owners_.Of(file);
  // The thread that gets a session does not wait for one whose call waits for that.
  const auto until = on_delay == OnDelay::kReturn ? Clock::now() : budget.deadline();
  for (const auto& owner : owners) {
    const std::unique_lock calling(owner->calling, until);
    if (!calling && on_delay == OnDelay::kReturn) {
      recovered.state_error = StateError::kWait;
    } else if (!calling) {
      recovered.error = CallDeadline::Error();
    } else if (how == Reopening::kAnew && file.CurrentState().generation == client.generation) {
      lock_owners_.LoseRevoked(*owner, budget);
    } else if (how == Reopening::kAnew) {
      lock_owners_.Lose(*owner);
    } else {
      const LockOwners::Answer answer = lock_owners_.Reclaim(*owner, opener, on_delay, budget);
      recovered.error = answer.error;
      if (answer.error == kOk) recovered.state_error = StateErrorOf(answer.status);
    }
    if (recovered.error != kOk || recovered.state_error != StateError::kNone) break;
  }
  if (recovered.error == kOk && recovered.state_error == StateError::kNone) return {};
  if (ConcernsClient(recovered.state_error)) return recovered;
  // The open file will be closed, which a server may refuse while it holds locks.
  for (const auto& owner : owners) {
    const std::unique_lock calling(owner->calling, until);
    if (calling) lock_owners_.GiveBack(*owner, opener, budget);
  }
  return recovered;
}

// At the end of an open file. Returns false if one of its lock-owners is not settled yet.
// Preconditions: file.reopening is held.
bool OpenFiles::ReleaseLocksOf(OpenFile& file, Budget& budget) {
  const LiveClient client = lease_.Current();
  const OpenFile::State now = file.CurrentState();
  const bool send = !stopped_.load() && !now.lost && now.generation == client.generation;
  const LockOwners::Opener opener{file.owner, now.id, client.id};
  bool are_settled = true;
  for (const auto& owner : lock_owners_.Of(file)) {
    const std::unique_lock calling(owner->calling, budget.deadline());
    if (!calling || (send && !UnlockAll(*owner, opener, budget))) {
      are_settled = false;
    } else if (send) {
      lock_owners_.Release(*owner, opener, budget);
    } else {
      lock_owners_.Retire(*owner);
    }
  }
  return are_settled;
}

// Unlocks all that the lock-owner has, as far as the server lets it. Returns false if that is not
// settled yet.
bool OpenFiles::UnlockAll(LockOwner& owner, const LockOwners::Opener& opener, Budget& budget) {
  const std::errc error = lock_owners_.Settle(owner, opener, budget);
  if (error != kOk) return !IsUnanswered(error);
  if (!owner.is_settled()) return false;
  if (!owner.known || owner.ranges.empty()) return true;
  const LockOwners::Answer answer =
      lock_owners_.Send(owner, {LockCall::Kind::kUnlock, {}}, opener, budget);
  return !IsUnanswered(answer.error) && StateErrorOf(answer.status) != StateError::kWait;
}

}  // namespace nfswalk::protocol
