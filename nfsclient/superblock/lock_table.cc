#include "nfsclient/superblock/lock_table.h"

#include <algorithm>

#include "nfsclient/protocol/call_deadline.h"
#include "rcu/mix64.h"

namespace nfswalk::nfs {

using protocol::CallDeadline;
using protocol::LockedRanges;
using protocol::RangeLock;

LockTable::Bucket& LockTable::BucketOf(const icache::Inode& inode) {
  return buckets_[rcu::Mix64(reinterpret_cast<uintptr_t>(&inode)) % kBuckets];
}

std::optional<LockTable::Conflict> LockTable::FindConflict(const Bucket& bucket, const Key& key,
                                                           const RangeLock& wanted) {
  for (auto at = bucket.held.lower_bound({key.first, 0}); at != bucket.held.end(); ++at) {
    if (at->first.first != key.first) break;
    if (at->first.second == key.second) continue;
    if (const auto lock = at->second.ranges.FindConflict(wanted)) {
      return Conflict{*lock, at->first.second};
    }
  }
  return std::nullopt;
}

LockTable::Turn::Turn(LockTable& table, icache::Inode& inode, uint64_t owner)
    : bucket_(table.BucketOf(inode)), key_(&inode, owner) {
  std::unique_lock lock(bucket_.mutex);
  const auto is_free = [&] {
    const auto found = bucket_.held.find(key_);
    return bucket_.stopped || found == bucket_.held.end() || !found->second.in_turn;
  };
  const bool came = protocol::WaitUntil(bucket_.changed, lock, CallDeadline::Current(), is_free);
  if (!came) error_ = CallDeadline::Error();
  if (bucket_.stopped) error_ = std::errc::operation_canceled;
  if (error_ != std::errc{}) return;
  held_ = &bucket_.held.try_emplace(key_).first->second;
  if (!held_->inode) held_->inode = icache::Hold(inode);
  held_->in_turn = true;
}

LockTable::Turn::~Turn() {
  if (held_ == nullptr) return;
  decltype(bucket_.held)::node_type unused;  // puts the inode behind the mutex
  const std::lock_guard lock(bucket_.mutex);
  held_->in_turn = false;
  if (held_->ranges.empty()) unused = bucket_.held.extract(key_);
  bucket_.changed.notify_all();
}

void LockTable::Turn::Set(LockedRanges next) {
  const std::lock_guard lock(bucket_.mutex);
  held_->ranges = std::move(next);
  ++bucket_.changes;
  bucket_.changed.notify_all();
}

std::optional<LockTable::Conflict> LockTable::Turn::TrySet(const RangeLock& wanted,
                                                           LockedRanges next) {
  const std::lock_guard lock(bucket_.mutex);
  auto conflict = LockTable::FindConflict(bucket_, key_, wanted);
  if (conflict) return conflict;
  held_->ranges = std::move(next);
  ++bucket_.changes;
  bucket_.changed.notify_all();
  return std::nullopt;
}

std::optional<LockTable::Conflict> LockTable::FindConflict(const icache::Inode& inode,
                                                           uint64_t owner,
                                                           const RangeLock& wanted) {
  Bucket& bucket = BucketOf(inode);
  const std::lock_guard lock(bucket.mutex);
  return FindConflict(bucket, {&inode, owner}, wanted);
}

bool LockTable::HasAny(const icache::Inode& inode) {
  Bucket& bucket = BucketOf(inode);
  const std::lock_guard lock(bucket.mutex);
  const auto at = bucket.held.lower_bound({&inode, 0});
  return at != bucket.held.end() && at->first.first == &inode;
}

uint64_t LockTable::Changes(const icache::Inode& inode) {
  Bucket& bucket = BucketOf(inode);
  const std::lock_guard lock(bucket.mutex);
  return bucket.changes;
}

// Says in the table whom an owner waits for, unless that would never end
// (posix_locks_deadlock()).
class LockTable::Waiting {
 public:
  Waiting(LockTable& table, uint64_t owner, uint64_t blocker) : table_(table) {
    const std::lock_guard lock(table_.waits_mutex_);
    uint64_t last = blocker;
    for (int step = 0; step < kDeadlockSteps && !is_deadlock_; ++step) {
      is_deadlock_ = last == owner;
      const auto next = table_.waits_.find(last);
      if (next == table_.waits_.end()) break;
      last = next->second;
    }
    if (!is_deadlock_) at_ = table_.waits_.emplace(owner, blocker);
  }
  ~Waiting() {
    if (is_deadlock_) return;
    const std::lock_guard lock(table_.waits_mutex_);
    table_.waits_.erase(at_);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  bool is_deadlock() const { return is_deadlock_; }

 private:
  LockTable& table_;
  bool is_deadlock_ = false;
  std::unordered_multimap<uint64_t, uint64_t>::iterator at_;
};

std::errc LockTable::AwaitChange(const icache::Inode& inode, uint64_t seen, Clock::time_point until,
                                 uint64_t owner, std::optional<uint64_t> blocker) {
  std::optional<Waiting> waiting;
  if (blocker) waiting.emplace(*this, owner, *blocker);
  if (waiting && waiting->is_deadlock()) return std::errc::resource_deadlock_would_occur;
  Bucket& bucket = BucketOf(inode);
  std::unique_lock lock(bucket.mutex);
  protocol::WaitUntil(bucket.changed, lock, std::min(until, CallDeadline::Current()),
                      [&] { return bucket.stopped || bucket.changes != seen; });
  return bucket.stopped ? std::errc::operation_canceled : std::errc{};
}

void LockTable::Stop() {
  for (Bucket& bucket : buckets_) {
    const std::lock_guard lock(bucket.mutex);
    bucket.stopped = true;
    bucket.changed.notify_all();
  }
}

}  // namespace nfswalk::nfs
