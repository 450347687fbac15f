// Open files and locks that the server revokes though the lease stands: after a conflict while that
// was overdue, or for an administrator (RFC 8881 8.4.2, 18.46.3). SEQUENCE says that there is
// something, TEST_STATEID what it is.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "nfsclient/nfs4/state/open_files.h"
#include "nfsclient/nfs4/state/state_id_calls.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {

// The state ids of a client id: first those of lock-owners, which are freed before their files are
// opened anew.
std::vector<OpenFiles::HeldState> OpenFiles::StatesOf(uint64_t generation) {
  std::vector<HeldState> held;
  for (const std::shared_ptr<LockOwner>& owner : lock_owners_.All()) {
    // Who calls by it is told by the reply.
    const std::unique_lock calling(owner->calling, std::chrono::steady_clock::now());
    const bool is_current = owner->file->CurrentState().generation == generation;
    if (calling && owner->known && is_current) held.push_back({owner->state, owner->file, owner});
  }
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<OpenFile>& file : files_) {
    const OpenFile::State now = file->CurrentState();
    if (now.generation == generation && !now.lost) held.push_back({now.id, file, nullptr});
  }
  return held;
}

Lease::Recovery OpenFiles::RecoverRevoked(const LiveClient& client, Budget& budget) {
  Lease::Recovery recovery{.has_left = lock_owners_.FreeLeft(budget)};
  if (!lease_.TakeRevoked()) return recovery;
  const std::vector<HeldState> held = StatesOf(client.generation);
  for (size_t begin = 0; begin < held.size(); begin += kTestedMax) {
    const auto part = std::span(held).subspan(begin, std::min(kTestedMax, held.size() - begin));
    std::vector<StateId> states;
    std::ranges::transform(part, std::back_inserter(states), &HeldState::state);
    const Tested tested = TestStateIds(caller_, states, budget);
    // The next reply says again that there is something.
    if (tested.error != kOk) {
      recovery.state_error = StateErrorOf(tested.status);
      break;
    }
    for (size_t i = 0; i < part.size(); ++i) {
      if (!IsRevoked(tested.statuses[i])) continue;
      recovery.state_error = TakeRevocation(part[i], client, budget).state_error;
      if (ConcernsClient(recovery.state_error)) return recovery;
      const bool is_of_open = part[i].owner == nullptr;
      const OpenFile::State now = part[i].file->CurrentState();
      recovery.has_found |= !is_of_open || now.lost || now.id != part[i].state;
      // Each file that was opened anew leaves a state id to be closed and freed.
      if (owners_.unsettled() < OpenOwners::kUnsettledMax / 2) continue;
      recovery.state_error = owners_.Settle(client, budget);
      if (ConcernsClient(recovery.state_error)) return recovery;
    }
  }
  return recovery;
}

OpenFiles::Reopened OpenFiles::TakeRevocation(const HeldState& held, const LiveClient& client,
                                              Budget& budget) {
  if (held.owner == nullptr) {
    return ReopenFile(Reopening::kAnew, *held.file, held.state, client, OnDelay::kReturn, budget);
  }
  const std::unique_lock calling(held.owner->calling, std::chrono::steady_clock::now());
  if (calling && held.owner->known && held.owner->state == held.state) {
    lock_owners_.LoseRevoked(*held.owner, budget);
  }
  return {};
}

// A file that is opened anew loses its locks: only one whose state id is gone is.
std::errc OpenFiles::RecoverEither(const UsedState& one, const UsedState& other, int status,
                                   Budget& budget) {
  const StateError state_error = StateErrorOf(status);
  const bool is_of_one =
      state_error == StateError::kState || state_error == StateError::kLeaseExpired;
  if (!is_of_one) return Recover(one.state, one.used, status, budget);
  const StateId states[] = {one.used, other.used};
  const Tested tested = TestStateIds(caller_, states, budget);
  if (tested.error != kOk && StateErrorOf(tested.status) != StateError::kNone) {
    return Recover(one.state, one.used, tested.status, budget);
  }
  if (tested.error != kOk) return tested.error;
  bool are_known = true;
  for (size_t i = 0; i < std::size(states); ++i) {
    if (StateErrorOf(tested.statuses[i]) == StateError::kNone) continue;
    are_known = false;
    const UsedState& lost = i == 0 ? one : other;
    const std::errc error = Recover(lost.state, lost.used, tested.statuses[i], budget);
    if (error != kOk) return error;
  }
  return are_known ? caller_.PauseForJukebox(budget) : kOk;
}

}  // namespace nfswalk::protocol
