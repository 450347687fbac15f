#include "tests/unit/nfsclient/protocol/fake_tree.h"

#include <algorithm>
#include <utility>

namespace nfswalk::protocol {
namespace {

// The directory and the last name of a path.
std::pair<std::string, std::string> Split(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

FakeTree::FakeTree() : root_(std::make_shared<FakeNode>()) {
  root_->type = FakeNode::Type::kDirectory;
  root_->mode = 0777;
  root_->nlink = 2;
  root_->fileid = next_fileid_++;
  by_handle_[root_->handle()] = root_;
}

std::shared_ptr<FakeNode> FakeTree::ByHandle(const std::string& handle) const {
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() || found->second->removed ? nullptr : found->second;
}

std::shared_ptr<FakeNode> FakeTree::Add(FakeNode& directory, const std::string& name,
                                        FakeNode node) {
  auto added = std::make_shared<FakeNode>(std::move(node));
  added->fileid = next_fileid_++;
  if (added->type == FakeNode::Type::kDirectory) {
    added->parent = &directory;
    added->nlink = 2;
  }
  by_handle_[added->handle()] = added;
  directory.entries[name] = added;
  ++directory.change;
  return added;
}

void FakeTree::Remove(FakeNode& directory, const std::string& name) {
  FakeNode& node = *directory.entries.at(name);
  --node.nlink;
  ++node.change;
  node.removed = node.nlink == 0 || node.type == FakeNode::Type::kDirectory;
  directory.entries.erase(name);
  ++directory.change;
}

void FakeTree::Link(FakeNode& directory, const std::string& name, std::shared_ptr<FakeNode> node) {
  if (directory.entries.contains(name)) Remove(directory, name);
  if (node->type == FakeNode::Type::kDirectory) {
    node->parent = &directory;
  } else {
    ++node->nlink;
  }
  ++node->change;
  directory.entries[name] = std::move(node);
  ++directory.change;
}

std::shared_ptr<FakeNode> FakeTree::Find(std::string_view path) const {
  std::shared_ptr<FakeNode> at = root_;
  while (!path.empty()) {
    const size_t length = std::min(path.find('/'), path.size());
    const auto found = at->entries.find(std::string(path.substr(0, length)));
    if (found == at->entries.end()) return nullptr;
    at = found->second;
    path.remove_prefix(std::min(length + 1, path.size()));
  }
  return at;
}

void FakeTreeServer::Inject(int operation, FakeFault fault, int times, int after) {
  const std::lock_guard lock(mutex_);
  operations_[operation].faults.push_back({fault, times, after});
}

void FakeTreeServer::Before(int operation, std::function<void()> change) {
  const std::lock_guard lock(mutex_);
  operations_[operation].before = std::move(change);
}

void FakeTreeServer::Put(const std::string& path, FakeNode node) {
  const std::lock_guard lock(mutex_);
  const auto [directory, name] = Split(path);
  tree_.Add(*tree_.Find(directory), name, std::move(node));
}

void FakeTreeServer::Erase(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto [directory, name] = Split(path);
  tree_.Remove(*tree_.Find(directory), name);
}

std::optional<FakeNode> FakeTreeServer::Find(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto node = tree_.Find(path);
  return node == nullptr ? std::nullopt : std::optional(*node);
}

void FakeTreeServer::AwaitCalls(int operation, int calls) {
  std::unique_lock lock(mutex_);
  called_.wait(lock, [&] { return operations_[operation].calls >= calls; });
}

std::optional<FakeFault> FakeTreeServer::Begin(int operation, uint32_t uid) {
  Operation& here = operations_[operation];
  if (const auto change = std::exchange(here.before, nullptr)) change();
  here.last_uid = uid;
  ++here.calls;
  called_.notify_all();
  if (here.faults.empty()) return std::nullopt;
  PlannedFault& next = here.faults.front();
  if (next.after-- > 0) return std::nullopt;
  const FakeFault fault = next.fault;
  if (--next.times == 0) here.faults.pop_front();
  return fault;
}

}  // namespace nfswalk::protocol
