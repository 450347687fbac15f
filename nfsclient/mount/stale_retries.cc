#include "nfsclient/mount/stale_retries.h"

#include <algorithm>
#include <system_error>

namespace nfswalk::mount {

bool NameRetries::MayAskAgain(pid_t caller, uint64_t directory, std::string_view name, After after,
                              Clock::time_point now) {
  if (caller == 0) return false;
  Change change{caller, directory, std::string(name)};
  const std::lock_guard lock(mutex_);
  const auto asked = changes_.extract(change);
  const bool comes_back = !asked.empty() && now <= asked.mapped().since + kKept;
  if (!comes_back) {
    if (changes_.size() == kMax) changes_.clear();
    changes_.emplace(std::move(change), Asked{now, after});
  }
  count_.store(changes_.size());
  return !comes_back;
}

void NameRetries::NoteLookup(pid_t caller, uint64_t directory, std::string_view name,
                             bool is_found) {
  if (count_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  const auto asked = changes_.find({caller, directory, std::string(name)});
  if (asked == changes_.end()) return;
  const bool ends = asked->second.after == (is_found ? After::kMissing : After::kFound);
  if (ends || ++asked->second.lookups > kLookupsOfWalk) changes_.erase(asked);
  count_.store(changes_.size());
}

bool NameRetries::End(pid_t caller, uint64_t directory, std::string_view name,
                      Clock::time_point now) {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  const auto asked = changes_.extract(Change{caller, directory, std::string(name)});
  count_.store(changes_.size());
  return !asked.empty() && now <= asked.mapped().since + kKept;
}

void OpenRetries::Add(pid_t caller, uint32_t rights, const Credential& credential,
                      Clock::time_point now) {
  if (caller == 0) return;
  const std::lock_guard lock(mutex_);
  const bool is_full = opens_.size() >= kMax;
  abandoned_.reserve(abandoned_.size() + opens_.size());
  for (auto at = opens_.begin(); at != opens_.end();) {
    const auto open = at++;
    if (!is_full && open->first != caller && now <= open->second.since + kept_) continue;
    if (open->second.file != nullptr) abandoned_.push_back(std::move(open->second.file));
    opens_.erase(open);
  }
  opens_.emplace(caller, Open{rights, credential, now});
  count_.store(opens_.size());
  if (abandoned_.empty()) return;
  has_file_ = true;
  changed_.notify_one();
}

std::optional<uint32_t> OpenRetries::RightsOf(pid_t caller, const Credential& credential) {
  if (count_.load() == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = opens_.find(caller);
  if (found == opens_.end() || found->second.credential != credential ||
      found->second.since + kept_ < Clock::now()) {
    return std::nullopt;
  }
  return found->second.rights;
}

void OpenRetries::Keep(pid_t caller, const NodeId& node, std::unique_ptr<File> file) try {
  const std::lock_guard lock(mutex_);
  const auto found = opens_.find(caller);
  if (found == opens_.end()) return;
  if (!closer_.joinable()) {
    closer_ = std::jthread([this](const std::stop_token& stop) { CloseLate(stop); });
  }
  found->second.node = node;
  std::swap(found->second.file, file);
  has_file_ = true;
  changed_.notify_one();
} catch (const std::system_error&) {
  // No thread would close it: it is not kept.
}

// A file to close; null: none before `next`. Preconditions: mutex_.
std::unique_ptr<File> OpenRetries::TakeLate(Clock::time_point& next) {
  next = Clock::time_point::max();
  if (!abandoned_.empty()) {
    auto file = std::move(abandoned_.back());
    abandoned_.pop_back();
    return file;
  }
  for (auto& [thread, open] : opens_) {
    if (open.file == nullptr) continue;
    if (open.since + kept_ < Clock::now()) return std::move(open.file);
    next = std::min(next, open.since + kept_);
  }
  return nullptr;
}

void OpenRetries::CloseLate(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    Clock::time_point next;
    if (auto file = TakeLate(next); file != nullptr) {
      lock.unlock();
      file.reset();
      lock.lock();
    } else {
      changed_.wait_until(lock, stop, next, [this] { return std::exchange(has_file_, false); });
    }
  }
}

void OpenRetries::Clear() {
  closer_ = {};
  abandoned_.clear();
  opens_.clear();
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
  const bool is_of_node = open.node == node && now <= open.since + kept_;
  return Retry{open.since, is_of_node ? std::move(open.file) : nullptr};
}

void OpenRetries::NoteMiss(pid_t caller) {
  if (count_.load() == 0) return;
  std::map<pid_t, Open>::node_type ended;  // closed without the mutex
  const std::lock_guard lock(mutex_);
  const auto found = opens_.find(caller);
  if (found == opens_.end() || ++found->second.misses < kLookupsOfWalk) return;
  ended = opens_.extract(found);
  count_.store(opens_.size());
}

bool OpenRetries::Has(pid_t caller) {
  if (count_.load() == 0) return false;
  const std::lock_guard lock(mutex_);
  return opens_.contains(caller);
}

}  // namespace nfswalk::mount
