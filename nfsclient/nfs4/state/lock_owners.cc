#include "nfsclient/nfs4/state/lock_owners.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/state/state_error.h"

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
  owner.known = true;
  return reply;
}

std::errc LockOwners::Settle(LockOwner& owner, const Opener& opener, Budget& budget) {
  if (!owner.unanswered) return kOk;
  const LockCall call = *owner.unanswered;
  const bool is_new = call.kind == LockCall::Kind::kLock && !owner.ranges.Overlaps(call.lock.range);
  const Answer answer = Send(owner, call, opener, budget);
  if (answer.error != kOk || answer.status != NFS4_OK || !is_new) return answer.error;
  const Answer undone = Send(owner, {LockCall::Kind::kUnlock, call.lock}, opener, budget);
  RetireIfUnused(owner);
  return undone.error;
}

LockOwners::Answer LockOwners::Reclaim(LockOwner& owner, const Opener& opener, OnDelay on_delay,
                                       Budget& budget) {
  owner.known = false;
  owner.unanswered.reset();
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
  if (owner.known) {
    (void)Send(owner, {LockCall::Kind::kUnlock, {LockType::kWrite, ByteRange{}}}, opener, budget);
  }
  owner.ranges = held;
  Lose(owner);
  return {};
}

void LockOwners::Lose(LockOwner& owner) {
  owner.known = false;
  owner.unanswered.reset();
  if (owner.ranges.empty()) return Retire(owner);
  if (!std::exchange(owner.lost, true)) ++owner.file->lost_lock_owners;
}

void LockOwners::Forget(LockOwner& owner, ByteRange range) {
  owner.ranges = owner.ranges.Without(range);
  RetireIfUnused(owner);
}

void LockOwners::Release(LockOwner& owner, const Opener& opener, Budget& budget) {
  if (owner.known) {
    Compound compound;
    compound.ReleaseLockOwner(opener.client_id, owner.name);
    (void)CallCompound<Reply>(caller_, compound, owner.file->credential, budget,
                              [](CompoundReader&, Reply&) {});
  }
  Retire(owner);
}

void LockOwners::RetireIfUnused(LockOwner& owner) {
  if (!owner.known && owner.ranges.empty() && !owner.unanswered) Retire(owner);
}

void LockOwners::Retire(LockOwner& owner) {
  if (std::exchange(owner.retired, true)) return;
  if (owner.lost) --owner.file->lost_lock_owners;
  TakeOut(owner);
}

void LockOwners::TakeOut(const LockOwner& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = owners_.find({BytesOf(owner.file->handle), owner.number});
  if (found != owners_.end() && found->second.get() == &owner) owners_.erase(found);
}

}  // namespace nfswalk::protocol
