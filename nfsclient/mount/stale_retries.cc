#include "nfsclient/mount/stale_retries.h"

namespace nfswalk::mount {

bool NameRetries::MayAskAgain(pid_t caller, uint64_t directory, std::string_view name) {
  if (caller == 0) return false;
  std::tuple change{caller, directory, std::string(name)};
  const std::lock_guard lock(mutex_);
  if (changes_.erase(change) != 0) return false;
  if (changes_.size() == kMax) changes_.clear();
  changes_.insert(std::move(change));
  return true;
}

void OpenRetries::Add(pid_t caller, uint32_t rights, const Credential& credential,
                      Clock::time_point now) {
  if (caller == 0) return;
  std::vector<std::unique_ptr<File>> closed;  // without the mutex
  const std::lock_guard lock(mutex_);
  const bool is_full = opens_.size() >= kMax;
  for (auto& [thread, open] : opens_) {
    if (open.file != nullptr && (is_full || open.since + kKept < now)) {
      closed.push_back(std::move(open.file));
    }
  }
  if (is_full) opens_.clear();
  if (const auto earlier = opens_.extract(caller); !earlier.empty()) {
    closed.push_back(std::move(earlier.mapped().file));
  }
  opens_.emplace(caller, Open{rights, credential, now});
  count_.store(opens_.size());
}

std::optional<uint32_t> OpenRetries::RightsOf(pid_t caller, const Credential& credential) {
  if (count_.load() == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = opens_.find(caller);
  if (found == opens_.end() || found->second.credential != credential ||
      found->second.since + kKept < Clock::now()) {
    return std::nullopt;
  }
  return found->second.rights;
}

void OpenRetries::Keep(pid_t caller, const NodeId& node, std::unique_ptr<File> file) {
  const std::lock_guard lock(mutex_);
  const auto found = opens_.find(caller);
  if (found == opens_.end()) return;
  found->second.node = node;
  std::swap(found->second.file, file);
}

auto OpenRetries::Extract(pid_t caller) -> std::map<pid_t, Open>::node_type {
  if (count_.load() == 0) return {};
  const std::lock_guard lock(mutex_);
  auto found = opens_.extract(caller);
  count_.store(opens_.size());
  return found;
}

auto OpenRetries::Take(pid_t caller, uint32_t rights, const Credential& credential,
                       const NodeId& node, Clock::time_point now) -> std::optional<Retry> {
  auto found = Extract(caller);
  if (found.empty()) return std::nullopt;
  Open& open = found.mapped();
  if (open.rights != rights || open.credential != credential) return std::nullopt;
  const bool is_of_node = open.node == node && now <= open.since + kKept;
  return Retry{open.since, is_of_node ? std::move(open.file) : nullptr};
}

void OpenRetries::End(pid_t caller) { (void)Extract(caller); }

bool OpenRetries::Has(pid_t caller) {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  return opens_.contains(caller);
}

}  // namespace nfswalk::mount
