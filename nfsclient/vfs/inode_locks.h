// inode_locks: i_rwsem of directories.
//
// Lookups and listings hold a directory's lock shared across their RPC and the insertion of its
// result, changes of single names for changes, and all other changes exclusively. So the
// ENOENT of a LOOKUP sent before our own CREATE cannot be cached after it (NAME-23). Changes of
// different names are in flight together, those of one name one after the other. The locks are an
// array indexed by a hash of the inode's address, which keeps inodes small. Two directories may
// share a lock; no deadlock follows: LockPair() and LockAllShared(), which take more than one, take
// each once and in the order of addresses, and names come after directories.
//
// Thread safety: any. May sleep: no spin lock, no RCU section, no shared lock of the same thread.
#ifndef NFSWALK_NFSCLIENT_VFS_INODE_LOCKS_H_
#define NFSWALK_NFSCLIENT_VFS_INODE_LOCKS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/vfs/changes_in_flight.h"
#include "nfsclient/vfs/inode_mutex.h"
#include "nfsclient/vfs/name.h"
#include "rcu/lock_order.h"
#include "rcu/mix64.h"

namespace nfswalk::vfs {

using DirectoryMutex = InodeMutex<rcu::LockClass::kDirectory>;

class InodeLocks {
 public:
  using Exclusive = std::unique_lock<DirectoryMutex>;
  using Shared = std::shared_lock<DirectoryMutex>;

  // Locked for a change of one or two names of the directory, unless the thread's CallDeadline
  // passes, or its calls are canceled, meanwhile.
  class [[nodiscard]] ForChange {
   public:
    ForChange(InodeLocks& locks, const icache::Inode& directory, const Name& first,
              const Name& second)
        : mutex_(locks.At(directory)),
          changes_(locks.ChangesOf(directory)),
          change_(directory, first, second) {
      if (!mutex_.TryLockForChange(protocol::CallDeadline::Current())) return;
      is_locked_ = changes_.Begin(change_);
      if (!is_locked_) mutex_.UnlockForChange();
    }
    ForChange(InodeLocks& locks, const icache::Inode& directory, const Name& name)
        : ForChange(locks, directory, name, name) {}
    ~ForChange() {
      if (!is_locked_) return;
      changes_.End(change_);
      mutex_.UnlockForChange();
    }
    ForChange(const ForChange&) = delete;
    ForChange& operator=(const ForChange&) = delete;

    explicit operator bool() const { return is_locked_; }
    // As those of ChangesInFlight. Preconditions: locked.
    void NoteSend() { changes_.NoteSend(change_); }
    void AwaitTurn(const ChangesInFlight::Follows& follows) {
      changes_.AwaitTurn(change_, follows);
    }
    void EndTurn() { changes_.EndTurn(change_); }

   private:
    DirectoryMutex& mutex_;
    ChangesInFlight& changes_;
    ChangesInFlight::Change change_;
    bool is_locked_ = false;
  };

  // Not locked if the thread's CallDeadline has passed, or its calls are canceled meanwhile.
  [[nodiscard]] Shared LockShared(const icache::Inode& directory) {
    return Shared(At(directory), protocol::CallDeadline::Current());
  }
  // Not locked where that would have to wait.
  [[nodiscard]] Shared TryLockShared(const icache::Inode& directory) {
    return Shared(At(directory), std::try_to_lock);
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
  ChangesInFlight& ChangesOf(const icache::Inode& directory) {
    return changes_[HashOf(directory) % kChanges];
  }
  std::array<DirectoryMutex, kLocks> locks_;
  std::array<ChangesInFlight, kChanges> changes_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_INODE_LOCKS_H_
