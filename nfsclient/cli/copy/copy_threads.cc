#include "nfsclient/cli/copy/copy_threads.h"

#include <system_error>
#include <utility>

namespace nfswalk::cli {
namespace {

// Bound of the queue: how far the progress line sees ahead, and how much memory that takes.
constexpr size_t kWaitingMax = 4096;

}  // namespace

CopyThreads::CopyThreads(unsigned threads) {
  if (threads == 1) return;
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) {
      threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
    }
  } catch (const std::system_error&) {
    // The threads that run do the work, or the calling one.
  }
}

CopyThreads::~CopyThreads() {
  Wait();
  for (std::jthread& thread : threads_) thread.request_stop();
}

void CopyThreads::Start(std::function<void()> copy, Turn turn) {
  if (threads_.empty()) return copy();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.size() < kWaitingMax; });
  waiting_.insert(turn == Turn::kFirst ? waiting_.begin() : waiting_.end(), std::move(copy));
  changed_.notify_all();
}

void CopyThreads::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && running_ == 0; });
}

void CopyThreads::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) {
    std::function<void()> copy = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    copy();
    copy = nullptr;  // what it holds, before it counts as ended
    lock.lock();
    --running_;
    changed_.notify_all();
  }
}

}  // namespace nfswalk::cli
