#include "nfsclient/superblock/invalidations.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::nfs {

std::errc Invalidations::Listen(Listener listener, size_t queue_max) try {
  if (std::this_thread::get_id() == thread_id_.load()) {
    return std::errc::resource_deadlock_would_occur;
  }
  Stop();
  if (!listener) return {};
  if (queue_max == 0) return std::errc::invalid_argument;
  const std::lock_guard serialised(listen_mutex_);
  {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    queue_.reserve(queue_max);
    batch_.clear();
    batch_.reserve(queue_max);
    queue_max_ = queue_max;
    overflow_ = everything_ = false;
    delivered_ = posted_;
  }
  thread_ = std::jthread([this, listener = std::move(listener)](const std::stop_token& stop) {
    thread_id_.store(std::this_thread::get_id());
    Deliver(stop, listener);
  });
  listening_.store(true);
  return {};
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
} catch (const std::length_error&) {
  return std::errc::not_enough_memory;
} catch (const std::system_error&) {
  return std::errc::resource_unavailable_try_again;
}

void Invalidations::Stop() {
  const std::lock_guard serialised(listen_mutex_);
  listening_.store(false);
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  thread_id_.store({});
  const std::lock_guard lock(mutex_);
  delivered_some_.notify_all();
}

void Invalidations::AwaitDelivery() {
  std::unique_lock lock(mutex_);
  const uint64_t posted = posted_;
  protocol::WaitUntil(delivered_some_, lock, protocol::CallDeadline::Current(),
                      [&] { return delivered_ >= posted || !listening(); });
}

bool Invalidations::HasQueued(const NodeId& node) {
  const std::lock_guard lock(mutex_);
  if (delivered_ == posted_) return false;
  const auto has = [&](const std::vector<Invalidation>& events) {
    return std::ranges::find(events, node, &Invalidation::node) != events.end();
  };
  return overflow_ || everything_ || has(queue_) || has(batch_);
}

// Without memory for a name, or beyond the limit: all that waits becomes one kEverything.
void Invalidations::PostSlow(InvalidReason reason, const NodeId& node, std::string_view name) {
  const std::lock_guard lock(mutex_);
  ++posted_;
  if (overflow_) return;
  if (reason != InvalidReason::kEverything && queue_.size() < queue_max_) try {
      // A change is often noticed by several replies in a row.
      const bool again = !queue_.empty() && queue_.back().reason == reason &&
                         queue_.back().node == node && queue_.back().name == name;
      if (!again) queue_.push_back({reason, node, std::string(name)});
      queued_some_.notify_one();
      return;
    } catch (const std::bad_alloc&) {
    }
  queue_.clear();
  overflow_ = true;
  queued_some_.notify_one();
}

void Invalidations::Deliver(const std::stop_token& stop, const Listener& listener) {
  std::unique_lock lock(mutex_);
  while (queued_some_.wait(lock, stop, [&] { return overflow_ || !queue_.empty(); })) {
    everything_ = std::exchange(overflow_, false);
    std::swap(batch_, queue_);
    const uint64_t taken = posted_;
    lock.unlock();
    if (everything_) listener({});
    for (const Invalidation& invalidation : batch_) {
      if (stop.stop_requested()) break;
      listener(invalidation);
    }
    lock.lock();
    batch_.clear();
    everything_ = false;
    delivered_ = taken;
    delivered_some_.notify_all();
  }
}

}  // namespace nfswalk::nfs
