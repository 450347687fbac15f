#include "nfsclient/superblock/flusher.h"

#include <system_error>
#include <utility>

namespace nfswalk::nfs {

bool Flusher::NoteDirty(Flush flush) try {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_dirty_, true) || stopped_ || interval_.count() == 0) return true;
  if (thread_.joinable()) {
    changed_.notify_all();
  } else {
    thread_ = std::jthread([this, flush](const std::stop_token& stop) { Run(stop, flush); });
  }
  return true;
} catch (const std::exception&) {  // std::system_error, std::bad_alloc
  const std::lock_guard lock(mutex_);
  is_dirty_ = false;
  return false;
}

void Flusher::Run(const std::stop_token& stop, Flush flush) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return is_dirty_; })) {
    changed_.wait_for(lock, stop, interval_, [] { return false; });
    if (stop.stop_requested()) return;
    is_dirty_ = false;
    lock.unlock();
    bool left = true;
    try {
      left = flush(files_);
    } catch (const std::bad_alloc&) {
    }
    lock.lock();
    is_dirty_ |= left;
  }
}

void Flusher::Stop() {
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
  }
}

}  // namespace nfswalk::nfs
