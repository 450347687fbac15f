// directory_locks: i_rwsem of directories, and of files that are appended to.
//
// Lookups and listings hold a directory's lock shared across their RPC and the insertion of its
// result, changes of single names for changes, and what concerns more than that exclusively. So the
// ENOENT of a LOOKUP sent before our own CREATE cannot be cached after it (NAME-23). Changes of
// different names are under way together, those of one name one after the other. The locks are an
// array indexed by a hash of the inode's address, which keeps inodes small. Two directories may
// share a lock; no deadlock follows: LockPair() and LockAllShared(), which take more than one, take
// each once and in the order of addresses, and names come after directories.
//
// Fair: locks are taken in the order in which threads came, those that may hold one together next
// to each other, so that changes do not starve while lookups keep coming.
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
#include "nfsclient/vfs/changes_under_way.h"
#include "nfsclient/vfs/name.h"
#include "rcu/lock_order.h"
#include "rcu/mix64.h"

namespace nfswalk::vfs {

// A SharedTimedMutex of the standard's, first come, first served, that can also be held together
// with others for changes. The try functions without a time fail while anybody waits.
class DirectoryMutex {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Mode { kShared, kForChange, kExclusive };

  void lock() { (void)try_lock_until(Clock::time_point::max()); }
  bool try_lock() { return TryAcquire(Mode::kExclusive); }
  bool try_lock_until(Clock::time_point until) {
    return Acquire(Mode::kExclusive, until, rcu::LockAttempt::kNested);
  }
  void unlock() { Release(); }

  void lock_shared() { (void)try_lock_shared_until(Clock::time_point::max()); }
  bool try_lock_shared() { return TryAcquire(Mode::kShared); }
  bool try_lock_shared_until(Clock::time_point until) {
    return Acquire(Mode::kShared, until, rcu::LockAttempt::kBlocking);
  }
  // The same, where the thread holds shared locks of lower addresses.
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
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, rcu::LockAttempt::kTry);
    return true;
  }
  bool Acquire(Mode mode, Clock::time_point until, rcu::LockAttempt attempt) {
    rcu::AssertMaySleep();
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, attempt);
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

class DirectoryLocks {
 public:
  using Exclusive = std::unique_lock<DirectoryMutex>;
  using Shared = std::shared_lock<DirectoryMutex>;

  // Locked for a change of one or two names of the directory, unless the thread's CallDeadline
  // passes, or its calls are canceled, meanwhile.
  class [[nodiscard]] ForChange {
   public:
    ForChange(DirectoryLocks& locks, const icache::Inode& directory, const Name& first,
              const Name& second)
        : mutex_(locks.At(directory)),
          changes_(locks.ChangesOf(directory)),
          change_(directory, first, second) {
      if (!mutex_.TryLockForChange(protocol::CallDeadline::Current())) return;
      is_locked_ = changes_.Begin(change_);
      if (!is_locked_) mutex_.UnlockForChange();
    }
    ForChange(DirectoryLocks& locks, const icache::Inode& directory, const Name& name)
        : ForChange(locks, directory, name, name) {}
    ~ForChange() {
      if (!is_locked_) return;
      changes_.End(change_);
      mutex_.UnlockForChange();
    }
    ForChange(const ForChange&) = delete;
    ForChange& operator=(const ForChange&) = delete;

    explicit operator bool() const { return is_locked_; }
    // As those of ChangesUnderWay. Preconditions: locked.
    void NoteSend() { changes_.NoteSend(change_); }
    void AwaitTurn(const ChangesUnderWay::Follows& follows) {
      changes_.AwaitTurn(change_, follows);
    }
    void EndTurn() { changes_.EndTurn(change_); }

   private:
    DirectoryMutex& mutex_;
    ChangesUnderWay& changes_;
    ChangesUnderWay::Change change_;
    bool is_locked_ = false;
  };

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
  static constexpr size_t kChanges = 64;
  static size_t HashOf(const icache::Inode& directory) {
    return rcu::Mix64(reinterpret_cast<uintptr_t>(&directory));
  }
  DirectoryMutex& At(const icache::Inode& directory) { return locks_[HashOf(directory) % kLocks]; }
  ChangesUnderWay& ChangesOf(const icache::Inode& directory) {
    return changes_[HashOf(directory) % kChanges];
  }
  std::array<DirectoryMutex, kLocks> locks_;
  std::array<ChangesUnderWay, kChanges> changes_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_
