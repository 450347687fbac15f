#include "nfsclient/data/byte_range_locks.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/call_deadline.h"

namespace nfswalk::data {

using nfs::InvalidateAttributes;
using nfs::IsKnown;
using nfs::LockTable;
using nfs::Superblock;
using protocol::ByteRange;
using protocol::CallDeadline;
using protocol::kOk;
using protocol::LockedRanges;
using protocol::RangeLock;
using std::chrono::milliseconds;

namespace {

// Between two LOCKs of a waiter whom the server refuses (nfs4_retry_setlk_simple()).
constexpr milliseconds kPollMin{100};
constexpr milliseconds kPollMax{5000};
constexpr std::errc kDenied = std::errc::resource_unavailable_try_again;

bool OnServer(const LockTarget& file) {
  return file.context->open != nullptr && file.superblock.protocol->has_locks();
}

icache::Inode& InodeOf(const LockTarget& file) { return *file.context->inode; }

// `release`: at the end of an open file of the owner, which leaves it nothing.
std::errc UnlockNow(const LockTarget& file, ByteRange range, bool release) {
  LockTable::Turn turn(file.superblock.locks, InodeOf(file), file.owner);
  if (turn.error() != kOk) return turn.error();
  LockedRanges next = turn.ranges().Without(range);
  std::errc error = kOk;
  // First the server, then the waiters of this client, which will ask it.
  if (OnServer(file)) {
    protocol::Protocol& protocol = *file.superblock.protocol;
    const protocol::OpenState& open = *file.context->open;
    error = release ? protocol.ReleaseLocks(open, file.owner)
                    : protocol.Unlock(open, file.owner, range);
  }
  turn.Set(std::move(next));
  return error;
}

// A LOCK whose caller did not wait for the reply may have been executed.
void UndoInBackground(const LockTarget& file, ByteRange range) try {
  TaskThreads::Task undo = [file, range] {
    LockTable::Turn turn(file.superblock.locks, InodeOf(file), file.owner);
    if (turn.error() != kOk || turn.ranges().Overlaps(range)) return;
    (void)file.superblock.protocol->Unlock(*file.context->open, file.owner, range);
  };
  (void)file.superblock.background.TryRun(undo);
} catch (const std::bad_alloc&) {
  // The owner's next call undoes it.
}

struct Attempt {
  std::errc error{};
  std::optional<uint64_t> blocker = {};  // of this client
};

Attempt TryLock(const LockTarget& file, const RangeLock& wanted) {
  LockTable& table = file.superblock.locks;
  LockTable::Turn turn(table, InodeOf(file), file.owner);
  if (turn.error() != kOk) return {turn.error()};
  LockedRanges next = turn.ranges().With(wanted);
  if (!OnServer(file)) {
    const auto conflict = turn.TrySet(wanted, std::move(next));
    return conflict ? Attempt{kDenied, conflict->owner} : Attempt{};
  }
  if (const auto conflict = table.FindConflict(InodeOf(file), file.owner, wanted)) {
    return {kDenied, conflict->owner};
  }
  const auto reply = file.superblock.protocol->Lock(*file.context->open, file.owner, wanted);
  if (reply.error == kOk) {
    turn.Set(std::move(next));
  } else if (!IsKnown(reply.error) && !file.superblock.shut_down.load() &&
             !turn.ranges().Overlaps(wanted.range)) {
    UndoInBackground(file, wanted.range);
  }
  return {reply.error};
}

}  // namespace

std::errc SetLock(const LockTarget& file, const RangeLock& wanted, bool wait) {
  Superblock& superblock = file.superblock;
  icache::Inode& inode = InodeOf(file);
  std::errc error = FlushWrites(superblock, inode, WriteBack::Until::kCommitted);
  if (error != kOk) return error;
  for (milliseconds poll = kPollMin;; poll = std::min(2 * poll, kPollMax)) {
    const uint64_t seen = superblock.locks.Changes(inode);
    const Attempt made = TryLock(file, wanted);
    if (made.error != kDenied || !wait) {
      error = made.error;
      break;
    }
    const auto now = LockTable::Clock::now();
    if (now >= CallDeadline::Current()) return CallDeadline::Error();
    const auto until = made.blocker ? LockTable::Clock::time_point::max() : now + poll;
    error = superblock.locks.AwaitChange(inode, seen, until, file.owner, made.blocker);
    if (error != kOk) return error;
  }
  if (error != kOk) return error;
  // nfs_zap_caches(): what others did while they had the lock.
  superblock.dirty_files.NoteWrite(inode);
  InvalidateAttributes(superblock, inode);
  return kOk;
}

std::errc Unlock(const LockTarget& file, ByteRange range) {
  const std::errc error = FlushWrites(file.superblock, InodeOf(file), WriteBack::Until::kCommitted);
  return error != kOk ? error : UnlockNow(file, range, /*release=*/false);
}

std::expected<std::optional<LockConflict>, std::errc> TestLock(const LockTarget& file,
                                                               const RangeLock& wanted) {
  if (const auto local = file.superblock.locks.FindConflict(InodeOf(file), file.owner, wanted)) {
    return LockConflict{local->lock, local->owner};
  }
  if (!OnServer(file)) return std::nullopt;
  const auto reply = file.superblock.protocol->TestLock(*file.context->open, file.owner, wanted);
  if (reply.error == kDenied && reply.conflict) return LockConflict{*reply.conflict};
  if (reply.error != kOk) return std::unexpected(reply.error);
  return std::nullopt;
}

void ReleaseLocks(const LockTarget& file) try {
  const std::errc error = UnlockNow(file, {}, /*release=*/true);
  if (IsKnown(error) || file.superblock.shut_down.load()) return;
  TaskThreads::Task again = [file] { (void)UnlockNow(file, {}, /*release=*/true); };
  (void)file.superblock.background.TryRun(again);
} catch (const std::bad_alloc&) {
  // CLOSE releases them.
}

}  // namespace nfswalk::data
