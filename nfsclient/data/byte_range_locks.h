// byte_range_locks: locks of open files (fs/nfs/file.c: do_setlk(), do_unlk(), do_getlk()), on the
// server where that has them, else among the open files of this client alone (nfs(5), nolock).
//
// An owner may use any of its open files. What it has locked is unlocked when one of those that it
// has locked by is closed, as close(2) has it of a process.
//
// Thread safety: all functions. Throw std::bad_alloc, with nothing locked or unlocked.
#ifndef NFSWALK_NFSCLIENT_DATA_BYTE_RANGE_LOCKS_H_
#define NFSWALK_NFSCLIENT_DATA_BYTE_RANGE_LOCKS_H_

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>

#include "nfsclient/data/write_back.h"
#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::data {

// A conflicting lock, of another owner.
struct LockConflict {
  protocol::RangeLock lock;
  std::optional<uint64_t> owner = {};  // of this client; nullopt: another client's
};

// The owners that have locked by one open file.
class FileLockOwners {
 public:
  void Add(uint64_t owner) {
    const std::lock_guard lock(mutex_);
    any_.store(true);
    owners_.insert(owner);
  }
  void Remove(uint64_t owner) {
    if (!had_any()) return;
    const std::lock_guard lock(mutex_);
    owners_.erase(owner);
  }
  // Returns whether there was one, ever.
  bool had_any() const { return any_.load(); }
  std::set<uint64_t> TakeAll() {
    if (!had_any()) return {};  // as nearly all files
    const std::lock_guard lock(mutex_);
    return std::exchange(owners_, {});
  }

 private:
  std::atomic<bool> any_{false};  // an owner was added once
  std::mutex mutex_;
  std::set<uint64_t> owners_;  // guarded by mutex_
};

struct LockTarget {
  nfs::Superblock& superblock;
  std::shared_ptr<const nfs::OpenContext> context;
  uint64_t owner;
};

// Locks, and makes what was written since the last time visible: dirty data goes out before, and
// cached attributes and what was read ahead are not used after it. Errors:
// resource_unavailable_try_again if another owner's lock is in the way and `wait` is false;
// resource_deadlock_would_occur; timed_out and operation_canceled of the thread; the server's.
std::errc SetLock(const LockTarget& file, const protocol::RangeLock& wanted, bool wait);
// Unlocks, after dirty data has gone out. Errors: those that leave data dirty, with nothing
// unlocked; the server's.
std::errc Unlock(const LockTarget& file, protocol::ByteRange range);
std::expected<std::optional<LockConflict>, std::errc> TestLock(const LockTarget& file,
                                                               const protocol::RangeLock& wanted);
// Unlocks all that `file.owner` holds of it.
void ReleaseLocks(const LockTarget& file);

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_BYTE_RANGE_LOCKS_H_
