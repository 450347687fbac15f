#include "nfsclient/c_api/callback_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <new>
#include <utility>

namespace nfswalk {

std::expected<std::unique_ptr<CallbackQueue>, std::errc> CallbackQueue::Create(
    unsigned threads) try {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return std::unexpected(std::errc{errno});
  std::unique_ptr<CallbackQueue> queue(new (std::nothrow) CallbackQueue(fd));
  if (queue == nullptr) {
    close(fd);
    return std::unexpected(std::errc::not_enough_memory);
  }
  queue->threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    queue->threads_.emplace_back(&CallbackQueue::Work, queue.get());
  }
  return queue;
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
} catch (const std::system_error& error) {
  return std::unexpected(std::errc{error.code().value()});
}

CallbackQueue::~CallbackQueue() {
  Calls canceled;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    canceled.swap(pending_);
  }
  arrived_.notify_all();
  for (const auto& call : canceled) call->Cancel();
  {
    std::lock_guard lock(mutex_);
    AddAnswered(canceled);
  }
  for (std::thread& thread : threads_) thread.join();
  while (Dispatch(0) > 0) {
  }
  close(answered_fd_);
}

std::errc CallbackQueue::Submit(std::unique_ptr<QueuedCall> call) try {
  Calls one;
  one.push_back(std::move(call));
  {
    std::lock_guard lock(mutex_);
    if (closing_) return std::errc::operation_canceled;
  }
  const bool answered = one.front()->AnswerAtOnce();
  {
    std::lock_guard lock(mutex_);
    if (answered) {
      AddAnswered(one);
      return {};
    }
    pending_.splice(pending_.end(), one);
  }
  arrived_.notify_one();
  return {};
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

size_t CallbackQueue::Dispatch(size_t max) {
  Calls batch;
  {
    std::lock_guard lock(mutex_);
    if (max == 0 || max >= answered_.size()) {
      batch.swap(answered_);
      eventfd_t ignored;
      if (!batch.empty()) eventfd_read(answered_fd_, &ignored);
    } else {
      batch.splice(batch.end(), answered_, answered_.begin(),
                   std::next(answered_.begin(), static_cast<ptrdiff_t>(max)));
    }
  }
  for (const auto& call : batch) call->Deliver();
  return batch.size();
}

void CallbackQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return closing_ || !pending_.empty(); });
    if (pending_.empty()) return;
    Calls one;
    one.splice(one.end(), pending_, pending_.begin());
    lock.unlock();
    one.front()->Answer();
    lock.lock();
    AddAnswered(one);
  }
}

void CallbackQueue::AddAnswered(Calls& calls) {
  if (calls.empty()) return;
  if (answered_.empty()) eventfd_write(answered_fd_, 1);
  answered_.splice(answered_.end(), calls);
}

}  // namespace nfswalk
