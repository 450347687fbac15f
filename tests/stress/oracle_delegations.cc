#include "tests/stress/oracle_delegations.h"

#include <utility>

namespace nfswalk::stress {

class OracleDelegations::Granted : public protocol::Delegation {
 public:
  Granted(OracleDelegations& delegations, NodeId node) : delegations_(delegations), node_(node) {}
  ~Granted() override {
    if (delegations_.on_return_) delegations_.on_return_();
    const std::lock_guard lock(delegations_.mutex_);
    delegations_.held_.erase(node_);
    delegations_.returned_.notify_all();
  }
  bool Watch(std::function<void()> on_end, std::function<bool()> was_used) override {
    const std::lock_guard lock(delegations_.mutex_);
    Held& held = delegations_.held_.at(node_);
    if (held.is_recalled) return false;
    held.on_end = std::move(on_end);
    held.was_used = std::move(was_used);
    return true;
  }
  void NoteUsed() override {}

 private:
  OracleDelegations& delegations_;
  const NodeId node_;
};

std::unique_ptr<protocol::Delegation> OracleDelegations::Grant(NodeId node) {
  constexpr uint64_t kRefusedOf = 4;
  if (++asked_ % kRefusedOf == 0 || !held_.try_emplace(node).second) return nullptr;
  return std::make_unique<Granted>(*this, node);
}

void OracleDelegations::EndIdle() {
  for (auto& [node, held] : held_) {
    if (held.is_recalled || !held.was_used || held.was_used()) continue;
    held.is_recalled = true;
    held.on_end();
  }
}

void OracleDelegations::Recall(NodeId node, std::unique_lock<std::mutex>& lock) {
  for (auto held = held_.find(node); held != held_.end(); held = held_.find(node)) {
    if (!std::exchange(held->second.is_recalled, true)) {
      ++recalled_;
      if (held->second.on_end) held->second.on_end();
    }
    returned_.wait(lock);
  }
}

void OracleDelegations::RecallAll(std::unique_lock<std::mutex>& lock) {
  while (!held_.empty()) Recall(held_.begin()->first, lock);
}

}  // namespace nfswalk::stress
