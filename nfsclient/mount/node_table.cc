#include "nfsclient/mount/node_table.h"

namespace nfswalk::mount {

NodeTable::NodeTable(std::unique_ptr<Node> root) : root_{.node = std::move(root), .id = {}} {
  root_.id = root_.node->id();
}

NodeTable::~NodeTable() = default;

auto NodeTable::Remember(std::unique_ptr<Node> node) -> Known {
  const NodeId id = node->id();
  // The kernel forgets the root only at the end.
  if (id == root_.id) return {kRootNumber, 0};
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(id);
  const bool is_known = found != held_.end();
  Held* held = is_known ? found->second.get() : nullptr;
  if (!is_known || (held->node->is_stale() && !node->is_stale())) {
    std::unique_ptr<Held> fresh(new Held{std::move(node), id, ++generation_});
    Held* const stale = std::exchange(held, fresh.get());
    // Nothing is changed before what may throw.
    if (is_known) {
      replaced_[stale] = std::exchange(found->second, std::move(fresh));
    } else {
      held_.emplace(id, std::move(fresh));
    }
  }
  ++held->lookups;
  return {reinterpret_cast<NodeNumber>(held), held->generation};
}

void NodeTable::Forget(NodeNumber number, uint64_t lookups) {
  if (number == kRootNumber) return;
  std::unique_ptr<Held> forgotten;  // destroyed without the mutex
  const std::lock_guard lock(mutex_);
  Held& held = HeldAt(number);
  held.lookups -= lookups;
  if (held.lookups != 0) return;
  names_ -= held.names.size();
  const auto found = held_.find(held.id);
  if (found == held_.end() || found->second.get() != &held) {
    forgotten = std::move(replaced_.extract(&held).mapped());
    return;
  }
  forgotten = std::move(found->second);
  held_.erase(found);
}

auto NodeTable::FindHeld(const NodeId& id) const -> const Held* {
  if (id == root_.id) return &root_;
  const auto found = held_.find(id);
  return found == held_.end() ? nullptr : found->second.get();
}

NodeNumber NodeTable::Find(const NodeId& id) const {
  const std::lock_guard lock(mutex_);
  return NumberOf(FindHeld(id));
}

NodeNumber NodeTable::FindToNotify(const NodeId& id) {
  const std::lock_guard lock(mutex_);
  auto* const held = const_cast<Held*>(FindHeld(id));
  if (held != nullptr) held->size.Notify();
  return NumberOf(held);
}

std::vector<NodeId> NodeTable::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeId> all{root_.id};
  all.reserve(1 + held_.size());
  for (const auto& [id, held] : held_) all.push_back(id);
  return all;
}

void NodeTable::NoteLocked(Held& held, std::string_view name,
                           const std::optional<NodeId>& subdirectory) {
  if (names_ == kNamesMax) {
    for (auto& [id, other] : held_) other->names.clear();
    for (auto& [key, stale] : replaced_) stale->names.clear();
    root_.names.clear();
    names_ = 0;
  }
  if (held.names.insert_or_assign(std::string(name), subdirectory).second) ++names_;
}

void NodeTable::NoteName(NodeNumber directory, std::string_view name,
                         std::optional<NodeId> subdirectory) {
  const std::lock_guard lock(mutex_);
  NoteLocked(HeldAt(directory), name, subdirectory);
}

void NodeTable::NoteName(const NodeId& directory, std::string_view name,
                         std::optional<NodeId> subdirectory) {
  const std::lock_guard lock(mutex_);
  auto* const held = const_cast<Held*>(FindHeld(directory));
  if (held != nullptr) NoteLocked(*held, name, subdirectory);
}

bool NodeTable::IsNoted(NodeNumber directory, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return HeldAt(directory).names.contains(name) ||
         (taken_from_ == directory && taken_.contains(name));
}

auto NodeTable::TakeNames(const NodeId& directory) -> Names {
  const std::lock_guard lock(mutex_);
  auto* const held = const_cast<Held*>(FindHeld(directory));
  if (held == nullptr) return {};
  Names taken{NumberOf(held), {}, held->node, {}};
  taken.names.reserve(held->names.size());
  while (!held->names.empty()) {
    auto name = held->names.extract(held->names.begin());
    --names_;
    if (name.mapped()) taken.subdirectories.emplace(name.key(), *name.mapped());
    taken.names.push_back(std::move(name.key()));
  }
  taken_from_ = taken.directory;
  taken_ = {taken.names.begin(), taken.names.end()};
  return taken;
}

void NodeTable::EndTaken() {
  const std::lock_guard lock(mutex_);
  taken_from_ = 0;
  taken_.clear();
}

auto NodeTable::TakeName(const NodeId& directory, const std::string& name) -> Names {
  const std::lock_guard lock(mutex_);
  auto* const held = const_cast<Held*>(FindHeld(directory));
  if (held == nullptr) return {};
  Names taken{NumberOf(held), {name}, held->node, {}};
  taken_from_ = taken.directory;
  taken_ = {name};
  const auto noted = held->names.find(name);
  if (noted == held->names.end()) return taken;
  if (noted->second) taken.subdirectories.emplace(name, *noted->second);
  held->names.erase(noted);
  --names_;
  return taken;
}

}  // namespace nfswalk::mount
