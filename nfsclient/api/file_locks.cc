// Byte-range locks by an open file.

#include <cstdint>
#include <expected>
#include <new>
#include <optional>
#include <system_error>

#include "nfsclient/api/file_state.h"
#include "nfsclient/client.h"
#include "nfsclient/data/byte_range_locks.h"
#include "rcu/fork.h"

namespace nfswalk {

using protocol::ByteRange;
using protocol::RangeLock;

namespace {

// flock64_to_posix_lock().
std::expected<ByteRange, std::errc> RangeOf(uint64_t offset_bytes, uint64_t length_bytes) {
  static_assert(ByteRange::kEnd == kFileBytesMax);
  if (offset_bytes > kFileBytesMax) return std::unexpected(std::errc::invalid_argument);
  if (length_bytes == 0) return ByteRange{offset_bytes, ByteRange::kEnd};
  if (length_bytes - 1 > kFileBytesMax - offset_bytes) {
    return std::unexpected(std::errc::value_too_large);
  }
  return ByteRange{offset_bytes, offset_bytes + length_bytes - 1};
}

}  // namespace

std::errc File::SetLock(uint64_t owner, LockType type, uint64_t offset_bytes, uint64_t length_bytes,
                        bool wait) try {
  const auto range = RangeOf(offset_bytes, length_bytes);
  if (!range) return range.error();
  const uint32_t needed = type == LockType::kRead ? kMayRead : kMayWrite;
  if ((state_->rights & needed) == 0) return std::errc::bad_file_descriptor;
  if (state_->superblock.shut_down.load()) return std::errc::operation_canceled;
  state_->lock_owners.Add(owner);
  return data::SetLock({state_->superblock, state_, owner}, {type, *range}, wait);
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

std::errc File::Lock(uint64_t owner, LockType type, uint64_t offset_bytes, uint64_t length_bytes) {
  return SetLock(owner, type, offset_bytes, length_bytes, /*wait=*/true);
}

std::errc File::TryLock(uint64_t owner, LockType type, uint64_t offset_bytes,
                        uint64_t length_bytes) {
  return SetLock(owner, type, offset_bytes, length_bytes, /*wait=*/false);
}

std::errc File::Unlock(uint64_t owner, uint64_t offset_bytes, uint64_t length_bytes) try {
  const auto range = RangeOf(offset_bytes, length_bytes);
  if (!range) return range.error();
  if (state_->superblock.shut_down.load()) return std::errc::operation_canceled;
  return data::Unlock({state_->superblock, state_, owner}, *range);
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

Result<std::optional<LockConflict>> File::TestLock(uint64_t owner, LockType type,
                                                   uint64_t offset_bytes,
                                                   uint64_t length_bytes) const try {
  const auto range = RangeOf(offset_bytes, length_bytes);
  if (!range) return std::unexpected(range.error());
  if (state_->superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  const auto found = data::TestLock({state_->superblock, state_, owner}, {type, *range});
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  const RangeLock& lock = (*found)->lock;
  const bool to_end = lock.range.last == ByteRange::kEnd;
  return LockConflict{.type = lock.type,
                      .offset_bytes = lock.range.first,
                      .length_bytes = to_end ? 0 : lock.range.last - lock.range.first + 1,
                      .owner = (*found)->owner};
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

// The end of this File must not unlock what the owner locks by another one afterwards.
void File::ReleaseLocks(uint64_t owner) {
  if (rcu::InForkedChild()) return;
  state_->lock_owners.Remove(owner);
  data::ReleaseLocks({state_->superblock, state_, owner});
}

void File::ReleaseLocks() {
  for (const uint64_t owner : state_->lock_owners.TakeAll()) {
    data::ReleaseLocks({state_->superblock, state_, owner});
  }
}

}  // namespace nfswalk
