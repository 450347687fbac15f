#include "nfsclient/mount/workers.h"

#include <new>
#include <system_error>
#include <utility>

namespace nfswalk::mount {

void Workers::Finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  added_.notify_all();
  threads_.clear();  // joins
}

void Workers::Run(Task task) {
  try {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size() && threads_.size() < kThreadsMax) StartThread();
    if (!threads_.empty()) {
      tasks_.push_back(std::move(task));
      added_.notify_one();
      return;
    }
  } catch (const std::bad_alloc&) {  // `task` is still there
  }
  task();
}

// Without one there are those that are there. Preconditions: mutex_.
void Workers::StartThread() {
  try {
    threads_.emplace_back([this] { Work(); });
    ++idle_;  // until it takes its first task
  } catch (const std::system_error&) {
  }
}

void Workers::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [&] { return !tasks_.empty() || ending_; });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    --idle_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    ++idle_;
  }
}

}  // namespace nfswalk::mount
