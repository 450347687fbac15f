// inode_mutex: one lock of the arrays that stand for i_rwsem.
//
// Fair: locks are taken in the order in which threads came, those that may hold one together next
// to each other, so that changes do not starve while lookups keep coming.
//
// Thread safety: any. May sleep: no spin lock, no RCU section, no shared lock of the same thread.
#ifndef NFSWALK_NFSCLIENT_VFS_INODE_MUTEX_H_
#define NFSWALK_NFSCLIENT_VFS_INODE_MUTEX_H_

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "nfsclient/protocol/call_deadline.h"
#include "rcu/lock_order.h"

namespace nfswalk::vfs {

// A SharedTimedMutex of the standard's, first come, first served, that can also be held together
// with others for changes. The try functions without a time fail while a thread waits.
template <rcu::LockClass kClass>
class InodeMutex {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Mode { kShared, kForChange, kExclusive };

  void lock() { (void)try_lock_until(Clock::time_point::max()); }
  bool try_lock() { return TryAcquire(Mode::kExclusive); }
  bool try_lock_until(Clock::time_point until) {
    // Two directories are locked in the order of addresses, of files one at a time.
    return Acquire(Mode::kExclusive, until,
                   kClass == rcu::LockClass::kDirectory ? rcu::LockAttempt::kNested
                                                        : rcu::LockAttempt::kBlocking);
  }
  void unlock() { Release(); }

  void lock_shared() { (void)try_lock_shared_until(Clock::time_point::max()); }
  bool try_lock_shared() { return TryAcquire(Mode::kShared); }
  bool try_lock_shared_until(Clock::time_point until) {
    return Acquire(Mode::kShared, until, rcu::LockAttempt::kBlocking);
  }
  // try_lock_shared_until() for a thread that holds shared locks of lower addresses.
  bool TryLockNextShared(Clock::time_point until) {
    return Acquire(Mode::kShared, until, rcu::LockAttempt::kNested);
  }
  void unlock_shared() { Release(); }

  bool TryLockForChange(Clock::time_point until) {
    return Acquire(Mode::kForChange, until, rcu::LockAttempt::kNested);
  }
  void UnlockForChange() { Release(); }

 private:
  struct Waiter : boost::intrusive::list_base_hook<> {
    explicit Waiter(Mode wanted) : mode(wanted) {}
    const Mode mode;
    bool granted = false;  // and no longer queued
  };

  bool TryAcquire(Mode mode) {
    const std::lock_guard guard(mutex_);
    if (!waiters_.empty() || !Grant(mode)) return false;
    rcu::NoteLockAcquire(kClass, this, rcu::LockAttempt::kTry);
    return true;
  }
  bool Acquire(Mode mode, Clock::time_point until, rcu::LockAttempt attempt) {
    rcu::AssertMaySleep();
    rcu::NoteLockAcquire(kClass, this, attempt);
    std::unique_lock guard(mutex_);
    if (waiters_.empty() && Grant(mode)) return true;
    Waiter waiter(mode);
    waiters_.push_back(waiter);
    if (protocol::WaitUntil(turn_, guard, until, [&] { return waiter.granted; })) return true;
    waiters_.erase(waiters_.iterator_to(waiter));
    GrantWaiters();  // to those that waited behind this one
    rcu::NoteLockRelease(this);
    return false;
  }
  void Release() {
    rcu::NoteLockRelease(this);
    const std::lock_guard guard(mutex_);
    --holders_;
    GrantWaiters();
  }

  // Preconditions of both: mutex_ is held.
  bool Grant(Mode mode) {
    if (holders_ != 0 && (mode != mode_ || mode == Mode::kExclusive)) return false;
    mode_ = mode;
    ++holders_;
    return true;
  }
  void GrantWaiters() {
    bool any = false;
    for (; !waiters_.empty() && Grant(waiters_.front().mode); any = true) {
      waiters_.front().granted = true;
      waiters_.pop_front();
    }
    if (any) turn_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable turn_;
  boost::intrusive::list<Waiter, boost::intrusive::constant_time_size<false>> waiters_;
  uint32_t holders_ = 0;
  Mode mode_ = Mode::kShared;  // of the holders
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_INODE_MUTEX_H_
