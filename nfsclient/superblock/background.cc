#include "nfsclient/superblock/background.h"

#include <new>
#include <system_error>
#include <utility>

namespace nfswalk::nfs {

bool Background::TryStart(Call& call) try {
  const std::lock_guard lock(mutex_);
  const size_t calls = queued_.size() + running_;
  if (stopped_ || calls == kThreadsMax) return false;
  if (calls == threads_.size()) StartThread();
  if (calls == threads_.size()) return false;
  queued_.emplace_back();
  queued_.back() = std::move(call);
  queued_some_.notify_one();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Background::StartThread() try {
  threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
} catch (const std::system_error&) {
  // The caller makes the call.
}

void Background::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (queued_some_.wait(lock, stop, [this] { return !queued_.empty(); })) {
    Call call = std::move(queued_.front());
    queued_.pop_front();
    ++running_;
    lock.unlock();
    try {
      call(/*in_background=*/true);
    } catch (const std::bad_alloc&) {  // the call is dropped
    }
    call = nullptr;
    lock.lock();
    --running_;
    idle_.notify_all();
  }
}

void Background::Stop() {
  {
    std::list<Call> dropped;
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(queued_);
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void Background::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return queued_.empty() && running_ == 0; });
}

}  // namespace nfswalk::nfs
