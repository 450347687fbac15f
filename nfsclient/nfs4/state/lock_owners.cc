#include "nfsclient/nfs4/state/lock_owners.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/nfs4/state/state_id_calls.h"

namespace nfswalk::protocol {
namespace {

struct Reply : LockOwners::Answer {
  bool executed = false;  // the operation with the sequence number was, with any status
  StateId state = {};
};

void Decode(bool unlock, CompoundReader& reader, Reply& reply) {
  reply.executed = reader.Next(OP_PUTFH);
  if (unlock ? TakeUnlocked(reader, reply.state) : TakeLocked(reader, reply.state)) return;
  reply.status = reader.status();
  if (reply.status == NFS4_OK) reply.error = std::errc::io_error;
  if (!unlock) reply.conflict = TakeDenied(reader);
}

// Returns the next call that makes of `now` what is `wanted`, first what locks; nullopt: none.
std::optional<LockCall> NextToRestore(const LockedRanges& now, const LockedRanges& wanted) {
  std::optional<LockCall> next;
  LockedRanges surplus = now;
  wanted.ForEach([&](const RangeLock& lock) {
    surplus = surplus.Without(lock.range);
    if (now.With(lock) == now) return true;
    next = {LockCall::Kind::kLock, lock};
    return false;
  });
  if (next) return next;
  surplus.ForEach([&](const RangeLock& lock) {
    next = {LockCall::Kind::kUnlock, lock};
    return false;
  });
  return next;
}

std::string BytesOf(const FileHandle& file) {
  return std::string(file.bytes().begin(), file.bytes().end());
}

}  // namespace

std::shared_ptr<LockOwner> LockOwners::Find(const FileHandle& file, uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find({BytesOf(file), number});
  return found == owners_.end() ? nullptr : found->second;
}

std::shared_ptr<LockOwner> LockOwners::FindOrMake(const std::shared_ptr<OpenFile>& file,
                                                  uint64_t number) {
  auto made = std::make_shared<LockOwner>(file, number);
  const std::lock_guard lock(mutex_);
  return owners_.try_emplace({BytesOf(file->handle), number}, std::move(made)).first->second;
}

std::vector<std::shared_ptr<LockOwner>> LockOwners::All() const {
  std::vector<std::shared_ptr<LockOwner>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, owner] : owners_) all.push_back(owner);
  return all;
}

std::vector<std::shared_ptr<LockOwner>> LockOwners::Of(const OpenFile& file) const {
  const std::string handle = BytesOf(file.handle);
  std::vector<std::shared_ptr<LockOwner>> all;
  const std::lock_guard lock(mutex_);
  for (auto at = owners_.lower_bound({handle, 0}); at != owners_.end(); ++at) {
    if (at->first.first != handle) break;
    if (at->second->file.get() == &file) all.push_back(at->second);
  }
  return all;
}

LockOwners::Answer LockOwners::Send(LockOwner& owner, const LockCall& call, const Opener& opener,
                                    Budget& budget) {
  const bool unlock = call.kind == LockCall::Kind::kUnlock;
  LockedRanges next = unlock ? owner.ranges.Without(call.lock.range) : owner.ranges.With(call.lock);
  const bool first = !owner.known;
  if (first && !owner.unanswered) {
    owner.name = NewName();
    owner.sequence = 0;
  }
  Compound compound;
  compound.PutHandle(owner.file->handle);
  if (!unlock) {
    compound.Lock({.lock = call.lock,
                   .reclaim = call.kind == LockCall::Kind::kReclaim,
                   .state = first ? opener.state : owner.state,
                   .sequence = owner.sequence,
                   .first = first,
                   .open_sequence = first ? opener.owner.sequence : 0,
                   .client_id = opener.client_id,
                   .owner = owner.name});
  } else {
    compound.Unlock(owner.state, owner.sequence, call.lock.range);
  }
  // No status is retried there: most advance the sequence, DELAY and GRACE too.
  Reply reply = CallCompound<Reply>(
      caller_, compound, owner.file->credential, budget,
      [&](CompoundReader& reader, Reply& decoded) { Decode(unlock, reader, decoded); });
  if (first) owner.file->first_lock_unanswered = reply.error != kOk;
  owner.unanswered.reset();
  if (reply.error != kOk) {
    owner.unanswered = call;
    return reply;
  }
  if (reply.executed && AdvancesSequence(reply.status)) ++owner.sequence;
  if (reply.executed && first) opener.owner.Executed(reply.status);
  if (reply.status != NFS4_OK) return reply;
  owner.ranges = std::move(next);
  owner.state = reply.state;
  if (caller_.has_sessions()) owner.state.sequence = 0;  // its latest (RFC 8881 8.2.2)
  owner.known = true;
  return reply;
}

std::errc LockOwners::Settle(LockOwner& owner, const Opener& opener, Budget& budget) {
  if (owner.is_settled()) return kOk;
  const bool tells_of_numbers = !caller_.has_sessions();
  if (owner.unanswered && owner.known && !tells_of_numbers &&
      owner.unanswered->kind == LockCall::Kind::kLock) {
    // As if it had been executed: what was held is locked again, what was not is unlocked.
    owner.restores = owner.ranges;
    owner.ranges = owner.ranges.With(owner.unanswered->lock);
    owner.unanswered.reset();
  }
  if (owner.unanswered) {
    const LockCall given_up = *owner.unanswered;
    LockCall call = given_up;
    if (call.kind == LockCall::Kind::kLock) {
      if (owner.ranges.HoldsWrite(call.lock.range)) call.lock.type = LockType::kWrite;
      owner.restores = owner.ranges;
    }
    const Answer answer = Send(owner, call, opener, budget);
    if (answer.error != kOk) {
      owner.unanswered = given_up;
      return answer.error;
    }
    // Was executed now, or the first time, with its own type.
    if (answer.status == NFS4_OK && call.lock.type != given_up.lock.type) {
      owner.ranges = owner.ranges.With(given_up.lock);
    }
    // Was not executed; only what unlocks is still to be done.
    if (StateErrorOf(answer.status) == StateError::kWait) {
      if (call.kind == LockCall::Kind::kUnlock) owner.unanswered = call;
      owner.restores.reset();
    }
  }
  if (owner.unanswered) return kOk;
  const std::errc error = Restore(owner, opener, budget);
  if (owner.is_settled()) RetireIfUnused(owner);
  return error;
}

// Makes what is locked what its caller knows to hold.
std::errc LockOwners::Restore(LockOwner& owner, const Opener& opener, Budget& budget) {
  while (owner.restores) {
    const std::optional<LockCall> next = NextToRestore(owner.ranges, *owner.restores);
    if (!next) {
      owner.restores.reset();
      break;
    }
    const Answer answer = Send(owner, *next, opener, budget);
    // The next time the same call is made, with its number.
    owner.unanswered.reset();
    if (answer.error != kOk) return answer.error;
    if (answer.status == NFS4_OK) continue;
    const StateError state_error = StateErrorOf(answer.status);
    // Done later, or no more, as Reclaim() goes by what its caller knows to hold.
    if (state_error == StateError::kWait || state_error == StateError::kServerRestart) break;
    // Another owner has taken what was weakened.
    owner.ranges = *owner.restores;
    Lose(owner);
  }
  return kOk;
}

void LockOwners::GiveBack(LockOwner& owner, const Opener& opener, Budget& budget) {
  if (!owner.known) return;
  const LockedRanges held = owner.ranges;
  (void)Send(owner, {LockCall::Kind::kUnlock, {LockType::kWrite, ByteRange{}}}, opener, budget);
  owner.unanswered.reset();
  owner.ranges = held;
  owner.known = false;
}

LockOwners::Answer LockOwners::Reclaim(LockOwner& owner, const Opener& opener, OnDelay on_delay,
                                       Budget& budget) {
  owner.known = false;
  owner.unanswered.reset();
  if (owner.restores) owner.ranges = *std::exchange(owner.restores, std::nullopt);
  if (owner.lost) return {};
  if (owner.ranges.empty()) Retire(owner);
  Answer answer;
  const LockedRanges held = owner.ranges;
  held.ForEach([&](const RangeLock& lock) {
    for (;;) {
      answer = Send(owner, {LockCall::Kind::kReclaim, lock}, opener, budget);
      if (answer.error != kOk || StateErrorOf(answer.status) != StateError::kWait) break;
      if (on_delay == OnDelay::kReturn) break;
      answer.error = caller_.PauseForJukebox(budget);
      if (answer.error != kOk) break;
    }
    return answer.error == kOk && answer.status == NFS4_OK;
  });
  const StateError state_error = StateErrorOf(answer.status);
  if (answer.error != kOk || ConcernsClient(state_error)) return answer;
  if (answer.status == NFS4_OK) return {};
  if (state_error == StateError::kWait) return answer;
  GiveBack(owner, opener, budget);
  owner.ranges = held;
  Lose(owner);
  return {};
}

void LockOwners::Lose(LockOwner& owner) {
  owner.known = false;
  owner.unanswered.reset();
  if (owner.restores) owner.ranges = *std::exchange(owner.restores, std::nullopt);
  if (owner.ranges.empty()) return Retire(owner);
  if (!std::exchange(owner.lost, true)) ++owner.file->lost_lock_owners;
}

void LockOwners::LoseRevoked(LockOwner& owner, Budget& budget) {
  const bool is_left = owner.known && caller_.has_sessions();
  Lose(owner);
  if (!is_left || FreeStateId(caller_, owner.state, owner.file->credential, budget)) return;
  const std::lock_guard lock(mutex_);
  if (unfreed_.size() < kUnfreedMax) unfreed_.emplace_back(owner.state, owner.file->credential);
}

bool LockOwners::FreeLeft(Budget& budget) {
  std::vector<std::pair<StateId, Credential>> states;
  {
    const std::lock_guard lock(mutex_);
    states.swap(unfreed_);
  }
  std::erase_if(states, [&](const auto& state) {
    return FreeStateId(caller_, state.first, state.second, budget);
  });
  const std::lock_guard lock(mutex_);
  unfreed_.insert(unfreed_.end(), states.begin(), states.end());
  return !unfreed_.empty();
}

void LockOwners::Forget(LockOwner& owner, ByteRange range) {
  owner.ranges = owner.ranges.Without(range);
  RetireIfUnused(owner);
}

void LockOwners::Release(LockOwner& owner, const Opener& opener, Budget& budget) {
  if (owner.known && caller_.has_sessions()) {
    (void)FreeStateId(caller_, owner.state, owner.file->credential, budget);
  } else if (owner.known) {
    Compound compound;
    compound.ReleaseLockOwner(opener.client_id, owner.name);
    (void)CallCompound<Reply>(caller_, compound, owner.file->credential, budget,
                              [](CompoundReader&, Reply&) {});
  }
  Retire(owner);
}

void LockOwners::RetireIfUnused(LockOwner& owner) {
  if (!owner.known && owner.ranges.empty() && owner.is_settled()) Retire(owner);
}

void LockOwners::Retire(LockOwner& owner) {
  if (std::exchange(owner.retired, true)) return;
  if (owner.lost) --owner.file->lost_lock_owners;
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find({BytesOf(owner.file->handle), owner.number});
  if (found != owners_.end() && found->second.get() == &owner) owners_.erase(found);
}

}  // namespace nfswalk::protocol
