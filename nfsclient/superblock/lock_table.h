// lock_table: the byte-range locks that the owners in this client hold (fs/locks.c:
// posix_lock_inode()). With version 3 all there are; with version 4 they keep the owners of this
// client apart before the server is asked, and are what the server has granted.
//
// Thread safety: all functions; a Turn is its thread's own.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_LOCK_TABLE_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_LOCK_TABLE_H_

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "nfsclient/icache/inode_ref.h"
#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/protocol/locked_ranges.h"

namespace nfswalk::nfs {

class LockTable {
 public:
  using Clock = std::chrono::steady_clock;

  // A lock of another owner.
  struct Conflict {
    protocol::RangeLock lock;
    uint64_t owner = 0;
  };

  LockTable() = default;
  LockTable(const LockTable&) = delete;
  LockTable& operator=(const LockTable&) = delete;

 private:
  struct Held {
    icache::InodeRef inode;
    protocol::LockedRanges ranges;
    bool in_turn = false;
  };
  using Key = std::pair<const icache::Inode*, uint64_t>;  // owner
  struct Bucket {
    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    uint64_t changes = 0;
    std::map<Key, Held> held;
    bool stopped = false;
  };

 public:
  // The right to change what an owner holds of an inode, here and on the server, so that both
  // change in one order. Waits for another thread's; throws std::bad_alloc.
  class [[nodiscard]] Turn {
   public:
    Turn(LockTable& table, icache::Inode& inode, uint64_t owner);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // timed_out or operation_canceled if the thread's time is over, the latter after Stop(): then
    // no other function may be called.
    std::errc error() const { return error_; }
    const protocol::LockedRanges& ranges() const { return held_->ranges; }
    // Makes `next` the owner's ranges.
    void Set(protocol::LockedRanges next);
    // Set(), unless another owner's lock conflicts with `wanted`, which is returned.
    std::optional<Conflict> TrySet(const protocol::RangeLock& wanted, protocol::LockedRanges next);

   private:
    Bucket& bucket_;
    const Key key_;
    std::errc error_{};
    Held* held_ = nullptr;
  };

  std::optional<Conflict> FindConflict(const icache::Inode& inode, uint64_t owner,
                                       const protocol::RangeLock& wanted);

  // Whether any owner has one of `inode`, or may be about to.
  bool HasAny(const icache::Inode& inode);

  // Counts changes to the locks of `inode`, and perhaps of others.
  uint64_t Changes(const icache::Inode& inode);
  // Waits until Changes() is not `seen`, or `until`, or the thread's time is over. `blocker`: the
  // owner that `owner` waits for, if it is one of this client. Errors:
  // resource_deadlock_would_occur if that one waits for `owner`, operation_canceled after Stop().
  // Throws std::bad_alloc.
  std::errc AwaitChange(const icache::Inode& inode, uint64_t seen, Clock::time_point until,
                        uint64_t owner, std::optional<uint64_t> blocker);
  // Ends all waits, for good.
  void Stop();

 private:
  static constexpr size_t kBuckets = 64;
  // As MAX_DEADLK_ITERATIONS of fs/locks.c.
  static constexpr int kDeadlockSteps = 10;
  class Waiting;

  Bucket& BucketOf(const icache::Inode& inode);
  static std::optional<Conflict> FindConflict(const Bucket& bucket, const Key& key,
                                              const protocol::RangeLock& wanted);

  std::array<Bucket, kBuckets> buckets_;
  std::mutex waits_mutex_;
  std::unordered_multimap<uint64_t, uint64_t> waits_;  // owner, blocker; guarded by waits_mutex_
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_LOCK_TABLE_H_
