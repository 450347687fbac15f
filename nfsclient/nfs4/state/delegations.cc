#include "nfsclient/nfs4/state/delegations.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <new>
#include <utility>

#include "nfsclient/nfs4/state/client_ids.h"
#include "nfsclient/nfs4/state/state_error.h"
#include "nfsclient/nfs4/state/state_id_calls.h"

namespace nfswalk::protocol {

// Members that are neither constant nor atomic: guarded by the mutex of Delegations.
class Delegations::Held final : public Delegation {
 public:
  Held(std::shared_ptr<Delegations> of, const DelegationGrant& grant, uint64_t client_generation,
       FileHandle handle, Credential who)
      : state(grant.state),
        of_directory(grant.of_directory),
        generation(client_generation),
        file(std::move(handle)),
        credential(std::move(who)),
        was_used(grant.of_directory),
        has_ended(grant.is_recalled),
        delegations_(std::move(of)) {}
  ~Held() override { delegations_->Return(*this); }

  bool Watch(std::function<void()> end, std::function<bool()> used) override {
    const std::lock_guard lock(delegations_->mutex_);
    if (has_ended) return false;
    on_end = std::move(end);
    was_used_now = std::move(used);
    return true;
  }
  void NoteUsed() override {
    idle_periods.store(0);
    if (was_used.exchange(true)) return;
    delegations_->unused_.fetch_sub(1);
  }

  const StateId state;
  const bool of_directory;
  const uint64_t generation;
  const FileHandle file;
  const Credential credential;
  std::atomic<bool> was_used;
  std::atomic<int> idle_periods{0};

  bool is_listed = false;  // in held_
  bool has_ended;
  std::function<void()> on_end = {};
  std::function<bool()> was_used_now = {};
  std::list<Held*>::iterator place = {};  // in unended_, where it is listed and has not ended

 private:
  const std::shared_ptr<Delegations> delegations_;
};

std::unique_ptr<Delegation> Delegations::Take(const DelegationGrant& grant, uint64_t epoch,
                                              uint64_t generation, const FileHandle& file,
                                              const Credential& credential) {
  auto held = std::make_unique<Held>(shared_from_this(), grant, generation, file, credential);
  std::list<Held*> place{held.get()};
  ++granted_;
  const std::lock_guard lock(mutex_);
  // Its state id would return the one that is held.
  if (!held_.emplace(grant.state.other, held.get()).second) return nullptr;
  held->is_listed = true;
  ++count_;
  ++(held->of_directory ? directories_ : unused_);
  const auto early = std::ranges::find(early_, grant.state.other);
  if (early != early_.end()) {
    early_.erase(early);
    held->has_ended = true;
    ++recalled_;
  }
  if (epoch != epoch_.load()) held->has_ended = true;
  if (!held->has_ended) {
    held->place = place.begin();
    unended_.splice(unended_.end(), place);
  }
  return held;
}

void Delegations::End(Held& held) {
  held.has_ended = true;
  unended_.erase(held.place);
  if (held.on_end) std::exchange(held.on_end, nullptr)();
}

bool Delegations::Wants(AskDelegation ask) const {
  switch (ask) {
    case AskDelegation::kNo:
      return false;
    case AskDelegation::kIfFewAreUnused:
      return count_.load() < kHeldMax && unused_.load() < kUnusedMax;
    case AskDelegation::kYes:
      return count_.load() < kHeldMax;
  }
  return false;
}

uint32_t Delegations::Recall(const StateId& state, const FileHandle& file) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(state.other);
  if (found == held_.end()) {
    if (std::ranges::find(early_, state.other) == early_.end()) {
      if (early_.size() >= kEarlyMax) early_.pop_front();
      early_.push_back(state.other);
    } else if (left_.size() < kEarlyMax) {
      left_.push_back({{.sequence = 0, .other = state.other}, file, Credential::OfProcess(), 0});
      note_left_();
    }
    return NFS4ERR_BAD_STATEID;
  }
  if (!found->second->has_ended) {
    ++recalled_;
    End(*found->second);
  }
  return NFS4_OK;
}

void Delegations::RecallAny(size_t kept_max, bool of_files, bool of_directories) {
  const std::lock_guard lock(mutex_);
  const auto is_meant = [&](const Held* held) {
    return held->of_directory ? of_directories : of_files;
  };
  auto left = static_cast<size_t>(std::ranges::count_if(unended_, is_meant));
  for (auto next = unended_.begin(); left > kept_max;) {
    Held& held = **next++;
    if (!is_meant(&held)) continue;
    --left;
    ++recalled_;
    End(held);
  }
}

void Delegations::EndAll() {
  const std::lock_guard lock(mutex_);
  ++epoch_;
  while (!unended_.empty()) End(*unended_.front());
}

void Delegations::EndIdle() {
  const std::lock_guard lock(mutex_);
  for (auto next = unended_.begin(); next != unended_.end();) {
    Held& held = **next++;
    const bool is_idle =
        held.was_used_now ? !held.was_used_now() : held.idle_periods.fetch_add(1) >= 1;
    if (is_idle) End(held);
  }
}

// The server knows it until it has answered: until then it stays in held_, so that a recall is one
// of what is being returned, and what the server grants again is not taken for another.
void Delegations::Return(Held& held) {
  if (!held.is_listed) return;
  {
    const std::lock_guard lock(mutex_);
    if (!held.has_ended) unended_.erase(held.place);
    held.has_ended = true;
    held.on_end = nullptr;
    held.was_used_now = nullptr;
  }
  try {
    Left left{held.state, held.file, held.credential, held.generation};
    rpc::Caller::Budget budget =
        caller_.NewBudget().Until(rpc::Retry::Clock::now() + ClientIds::kDefaultLease);
    if (!TryReturn(left, budget)) Leave(std::move(left));
  } catch (const std::bad_alloc&) {  // the server revokes it
  }
  const std::lock_guard lock(mutex_);
  held_.erase(held.state.other);
  --count_;
  if (held.of_directory) --directories_;
  if (!held.was_used.load()) --unused_;
}

// Returns false if there was no answer, and the server may still hold it.
bool Delegations::TryReturn(const Left& left, rpc::Caller::Budget& budget) {
  // With an earlier client id the server has dropped it.
  const bool is_dropped = left.generation != 0 && left.generation != current_();
  if (stopped_.load() || is_dropped) return true;
  const ClientIds::Status reply =
      SendDelegReturn(caller_, left.state, left.file, left.credential, budget);
  if (reply.error != kOk) return !IsUnanswered(reply.error);
  if (reply.status == NFS4_OK) ++returned_;
  if (!IsRevoked(reply.status)) return true;
  ++revoked_;
  return FreeStateId(caller_, left.state, left.credential, budget);
}

void Delegations::Leave(Left left) {
  {
    const std::lock_guard lock(mutex_);
    left_.push_back(std::move(left));
  }
  note_left_();
}

bool Delegations::ReturnLeft(rpc::Caller::Budget& budget) {
  std::vector<Left> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(left_);
  }
  std::erase_if(left, [&](const Left& one) { return TryReturn(one, budget); });
  const std::lock_guard lock(mutex_);
  left_.insert(left_.end(), left.begin(), left.end());
  return !left_.empty();
}

DelegationStats Delegations::stats() const {
  DelegationStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats.held = held_.size();
  }
  stats.granted = granted_.load();
  stats.refused = refused_.load();
  stats.recalled = recalled_.load();
  stats.returned = returned_.load();
  stats.revoked = revoked_.load();
  return stats;
}

}  // namespace nfswalk::protocol
