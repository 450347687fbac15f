// directory_locks: i_rwsem of directories.
//
// Lookups and listings hold a directory's lock shared across their RPC and the insertion of its
// result; create, unlink and rename hold it exclusively. So the ENOENT of a LOOKUP sent before our
// own CREATE cannot be cached after it (NAME-23). The locks are an array
// indexed by a hash of the inode's address, which keeps inodes small. Two directories may share a
// lock; no deadlock follows, since only LockPair() takes two.
//
// Fair: locks are taken in the order in which threads came, readers next to each other together, so
// that changes do not starve while lookups keep coming.
//
// Thread safety: any. May sleep: no spin lock, no RCU section, no shared lock of the same thread.
#ifndef NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_
#define NFSWALK_NFSCLIENT_VFS_DIRECTORY_LOCKS_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "nfsclient/icache/inode.h"
#include "rcu/lock_order.h"
#include "rcu/mix64.h"

namespace nfswalk::vfs {

// A SharedMutex of the standard's, first come, first served. The try functions fail while anybody
// waits.
class DirectoryMutex {
 public:
  void lock() {
    rcu::AssertMaySleep();
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, rcu::LockAttempt::kNested);
    std::unique_lock guard(mutex_);
    const uint64_t ticket = tickets_++;
    turn_.wait(guard, [&] { return served_ == ticket && IsFree(); });
    ++served_;
    writer_ = true;
  }
  bool try_lock() {
    const std::lock_guard guard(mutex_);
    if (served_ != tickets_ || !IsFree()) return false;
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, rcu::LockAttempt::kTry);
    ++tickets_, ++served_;
    return writer_ = true;
  }
  void unlock() {
    rcu::NoteLockRelease(this);
    const std::lock_guard guard(mutex_);
    writer_ = false;
    turn_.notify_all();
  }

  void lock_shared() {
    rcu::AssertMaySleep();
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, rcu::LockAttempt::kBlocking);
    std::unique_lock guard(mutex_);
    const uint64_t ticket = tickets_++;
    turn_.wait(guard, [&] { return served_ == ticket && !writer_; });
    ++served_;
    ++readers_;
    if (served_ != tickets_) turn_.notify_all();  // the next may be a reader, too
  }
  bool try_lock_shared() {
    const std::lock_guard guard(mutex_);
    if (served_ != tickets_ || writer_) return false;
    rcu::NoteLockAcquire(rcu::LockClass::kDirectory, this, rcu::LockAttempt::kTry);
    ++tickets_, ++served_;
    ++readers_;
    return true;
  }
  void unlock_shared() {
    rcu::NoteLockRelease(this);
    const std::lock_guard guard(mutex_);
    if (--readers_ == 0) turn_.notify_all();
  }

 private:
  bool IsFree() const { return !writer_ && readers_ == 0; }

  std::mutex mutex_;
  std::condition_variable turn_;
  uint64_t tickets_ = 0, served_ = 0;
  uint32_t readers_ = 0;
  bool writer_ = false;
};

class DirectoryLocks {
 public:
  using Exclusive = std::unique_lock<DirectoryMutex>;
  using Shared = std::shared_lock<DirectoryMutex>;

  Shared LockShared(const icache::Inode& directory) { return Shared(At(directory)); }
  Exclusive Lock(const icache::Inode& directory) { return Exclusive(At(directory)); }

  // lock_rename: both directories, in address order; the second is empty if they share a lock.
  std::pair<Exclusive, Exclusive> LockPair(const icache::Inode& a, const icache::Inode& b) {
    DirectoryMutex* first = &At(a);
    DirectoryMutex* second = &At(b);
    if (first == second) return {Exclusive(*first), Exclusive()};
    if (second < first) std::swap(first, second);
    Exclusive outer(*first);
    return {std::move(outer), Exclusive(*second)};
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
