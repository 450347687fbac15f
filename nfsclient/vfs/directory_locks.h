// directory_locks: i_rwsem of directories, and of files that are appended to.
//
// Lookups and listings hold a directory's lock shared across their RPC and the insertion of its
// result; create, unlink and rename hold it exclusively. So the ENOENT of a LOOKUP sent before our
// own CREATE cannot be cached after it (NAME-23). The locks are an array
// indexed by a hash of the inode's address, which keeps inodes small. Two directories may share a
// lock; no deadlock follows: LockPair() and LockAllShared(), which take more than one, take each
// once and in the order of addresses.
//
// Fair: locks are taken in the order in which threads came, readers next to each other together, so
// that changes do not starve while lookups keep coming.
//
// Thread safety: any. May sleep: no spin lock, no RCU section, no shared lock of the same thread.
#ifndef NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_
#define NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/call_deadline.h"
#include "rcu/lock_order.h"
#include "rcu/mix64.h"

namespace nfswalk::vfs {

// A SharedTimedMutex of the standard's, first come, first served. The try functions without a time
// fail while anybody waits.
class DirectoryMutex {
 public:
  using Clock = std::chrono::steady_clock;

  void lock() { (void)try_lock_until(Clock::time_point::max()); }
  bool try_lock() { return TryAcquire(true); }
  bool try_lock_until(Clock::time_point until) {
    return Acquire(true, until, rcu::LockAttempt::kNested);
  }
  void unlock() { Release(); }

  void lock_shared() { (void)try_lock_shared_until(Clock::time_point::max()); }
  bool try_lock_shared() { return TryAcquire(false); }
  bool try_lock_shared_until(Clock::time_point until) {
    return Acquire(false, until, rcu::LockAttempt::kBlocking);
  }
  // The same, where the thread holds shared locks of lower addresses.
  bool TryLockNextShared(Clock::time_point until) {
    return Acquire(false, until, rcu::LockAttempt::kNested);
  }
  void unlock_shared() { Release(); }

 private:
  struct Waiter : boost::intrusive::list_base_hook<> {
    explicit Waiter(bool wants_all) : exclusive(wants_all) {}
    const bool exclusive;
    bool granted = false;  // and no longer queued
  };

  bool TryAcquire(bool exclusive) {
    const std::lock_guard guard(mutex_);
    if (!waiters_.empty() || !Grant(exclusive)) return false;
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, rcu::LockAttempt::kTry);
    return true;
  }
  bool Acquire(bool exclusive, Clock::time_point until, rcu::LockAttempt attempt) {
    rcu::AssertMaySleep();
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, attempt);
    std::unique_lock guard(mutex_);
    if (waiters_.empty() && Grant(exclusive)) return true;
    Waiter waiter(exclusive);
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
    writer_ = false;
    if (readers_ != 0) --readers_;
    GrantWaiters();
  }

  // Preconditions of both: mutex_ is held.
  bool Grant(bool exclusive) {
    if (writer_ || (exclusive && readers_ != 0)) return false;
    if (exclusive) {
      writer_ = true;
    } else {
      ++readers_;
    }
    return true;
  }
  void GrantWaiters() {
    bool any = false;
    for (; !waiters_.empty() && Grant(waiters_.front().exclusive); any = true) {
      waiters_.front().granted = true;
      waiters_.pop_front();
    }
    if (any) turn_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable turn_;
  boost::intrusive::list<Waiter, boost::intrusive::constant_time_size<false>> waiters_;
  uint32_t readers_ = 0;
  bool writer_ = false;
};

class DirectoryLocks {
 public:
  using Exclusive = std::unique_lock<DirectoryMutex>;
  using Shared = std::shared_lock<DirectoryMutex>;

  // Not locked if the thread's CallDeadline has passed, or its calls are canceled meanwhile.
  [[nodiscard]] Shared LockShared(const icache::Inode& directory) {
    return Shared(At(directory), protocol::CallDeadline::Current());
  }
  [[nodiscard]] Exclusive Lock(const icache::Inode& directory) {
    return Exclusive(At(directory), protocol::CallDeadline::Current());
  }

  // All of them, in the order of addresses; none if one cannot be locked. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Shared> LockAllShared(
      std::span<const icache::Inode* const> directories) {
    std::vector<DirectoryMutex*> mutexes;
    for (const icache::Inode* directory : directories) mutexes.push_back(&At(*directory));
    std::ranges::sort(mutexes);
    const auto [end, last] = std::ranges::unique(mutexes);
    mutexes.erase(end, last);
    std::vector<Shared> locks;
    locks.reserve(mutexes.size());
    const auto until = protocol::CallDeadline::Current();
    for (DirectoryMutex* mutex : mutexes) {
      if (!mutex->TryLockNextShared(until)) return {};
      locks.emplace_back(*mutex, std::adopt_lock);
    }
    return locks;
  }

  // lock_rename: both directories, in address order; the second is without a mutex if they share
  // one. Neither is locked if the thread's CallDeadline has passed.
  [[nodiscard]] std::pair<Exclusive, Exclusive> LockPair(const icache::Inode& a,
                                                         const icache::Inode& b) {
    DirectoryMutex* first = &At(a);
    DirectoryMutex* second = &At(b);
    const auto until = protocol::CallDeadline::Current();
    if (first == second) return {Exclusive(*first, until), Exclusive()};
    if (second < first) std::swap(first, second);
    Exclusive outer(*first, until);
    if (!outer) return {};
    Exclusive inner(*second, until);
    if (!inner) return {};
    return {std::move(outer), std::move(inner)};
  }

 private:
  static constexpr size_t kLocks = 1024;
  DirectoryMutex& At(const icache::Inode& directory) {
    return locks_[rcu::Mix64(reinterpret_cast<uintptr_t>(&directory)) % kLocks];
  }
  std::array<DirectoryMutex, kLocks> locks_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_
