#include "rcu/sync_point.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace nfswalk::rcu {

namespace {

struct Script {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<std::function<void()>>, std::less<>> callbacks;
};

// Leaked on purpose: threads may reach points while the process exits.
Script& TheScript() {
  static auto* const script = new Script;
  return *script;
}

}  // namespace

void SyncPointScript::OnReach(std::string_view name, std::function<void()> callback) {
  Script& script = TheScript();
  std::lock_guard lock(script.mutex);
  script.callbacks.insert_or_assign(std::string(name),
                                    std::make_shared<std::function<void()>>(std::move(callback)));
  installed_.store(static_cast<uint32_t>(script.callbacks.size()), std::memory_order_relaxed);
}

void SyncPointScript::ClearAll() {
  Script& script = TheScript();
  std::lock_guard lock(script.mutex);
  script.callbacks.clear();
  installed_.store(0, std::memory_order_relaxed);
}

void SyncPointScript::Reach(std::string_view name) {
  std::shared_ptr<std::function<void()>> callback;
  {
    Script& script = TheScript();
    std::lock_guard lock(script.mutex);
    const auto found = script.callbacks.find(name);
    if (found == script.callbacks.end()) return;
    callback = found->second;
  }
  (*callback)();
}

}  // namespace nfswalk::rcu
