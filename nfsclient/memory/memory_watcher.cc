#include "nfsclient/memory/memory_watcher.h"

#include <system_error>
#include <utility>

namespace nfswalk::nfs {

MemoryWatcher::MemoryWatcher(const std::string& root, Times times) : times_(times), signals_(root) {
  if (!signals_.can_tell()) return;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The caches keep their limits.
  }
}

MemoryWatcher::~MemoryWatcher() {
  signals_.Stop();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<MemoryWatcher> MemoryWatcher::OfProcess() {
  // Leaked on purpose: a mount may outlive the destruction of static objects.
  static auto* const mutex = new std::mutex;
  static auto* const current = new std::weak_ptr<MemoryWatcher>;
  const std::lock_guard lock(*mutex);
  std::shared_ptr<MemoryWatcher> watcher = current->lock();
  if (watcher == nullptr) {
    watcher = std::make_shared<MemoryWatcher>();
    *current = watcher;
  }
  return watcher;
}

void MemoryWatcher::Run() {
  constexpr std::chrono::milliseconds kForEver(-1);
  bool shrunk = false;
  for (;;) {
    switch (signals_.Wait(shrunk ? times_.calm : kForEver)) {
      case PressureSignal::kStopped:
        return;
      case PressureSignal::kTimeout:
        shrunk = !GrowAll();
        break;
      case PressureSignal::kMemoryShort:
        ShrinkAll();
        shrunk = true;
        if (signals_.Pause(times_.interval) == PressureSignal::kStopped) return;
        break;
    }
  }
}

void MemoryWatcher::ShrinkAll() {
  const std::lock_guard lock(mutex_);
  for (const Caches& caches : watched_) caches.shrink(caches.object);
}

bool MemoryWatcher::GrowAll() {
  const std::lock_guard lock(mutex_);
  bool all = true;
  for (const Caches& caches : watched_) all = caches.grow(caches.object) && all;
  return all;
}

MemoryWatch::MemoryWatch(std::shared_ptr<MemoryWatcher> watcher, MemoryWatcher::Caches caches)
    : watcher_(std::move(watcher)) {
  const std::lock_guard lock(watcher_->mutex_);
  place_ = watcher_->watched_.insert(watcher_->watched_.end(), caches);
}

MemoryWatch::~MemoryWatch() {
  const std::lock_guard lock(watcher_->mutex_);
  watcher_->watched_.erase(place_);
}

}  // namespace nfswalk::nfs
