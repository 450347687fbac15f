// What READs show of data that was written and is not on the server yet.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "nfsclient/nfs/dirty_data.h"
#include "rcu/coarse_clock.h"

namespace nfswalk::nfs {

DirtyData::Extents::iterator DirtyData::FirstOverlap(uint64_t begin) {
  auto at = extents_.upper_bound(begin);
  if (at != extents_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.size > begin) return before;
  }
  return at;
}

std::optional<uint64_t> DirtyData::KnownServerEnd() const {
  protocol::Attributes known;
  if (!AttributesFresh(*inode_, rcu::CoarseNowNs(), icache::kInvalidChange) ||
      !CopyAttributesRcu(*inode_, known)) {
    return std::nullopt;
  }
  return known.size_bytes;
}

// The end of the extents that a READ shows. Preconditions: mutex_.
uint64_t DirtyData::EndFor(uint64_t read) {
  for (auto at = extents_.rbegin(); at != extents_.rend(); ++at) {
    if (at->second.IsShownBy(read)) return at->first + at->second.size;
  }
  return 0;
}

uint64_t DirtyData::end_bytes() {
  const std::lock_guard lock(mutex_);
  return EndFor(reads_begun_ + 1);
}

uint64_t DirtyData::BeginRead() {
  const std::lock_guard lock(mutex_);
  ++reads_;
  return ++reads_begun_;
}

bool DirtyData::HasAll(uint64_t read, uint64_t offset_bytes, size_t size_bytes) {
  if (superblock_.locks.HasAny(*inode_)) return false;  // the server may say that one is lost
  const uint64_t server_end = KnownServerEnd().value_or(UINT64_MAX);
  const uint64_t end = std::min(offset_bytes + size_bytes, server_end);
  const std::lock_guard lock(mutex_);
  uint64_t at = offset_bytes;
  for (auto extent = FirstOverlap(at); at < end && extent != extents_.end(); ++extent) {
    if (extent->first > at || !extent->second.IsShownBy(read)) return false;
    at = extent->first + extent->second.size;
  }
  return at >= end;
}

size_t DirtyData::EndRead(uint64_t read, std::span<std::byte> into, uint64_t offset_bytes,
                          size_t count_bytes) {
  const std::lock_guard lock(mutex_);
  uint64_t end = std::min(EndFor(read), offset_bytes + into.size());
  if (end > offset_bytes + count_bytes) {
    std::ranges::fill(into.subspan(count_bytes, end - offset_bytes - count_bytes), std::byte{0});
    count_bytes = end - offset_bytes;
  }
  end = offset_bytes + count_bytes;
  for (auto at = FirstOverlap(offset_bytes); at != extents_.end() && at->first < end; ++at) {
    if (!at->second.IsShownBy(read)) continue;
    const uint64_t first = std::max(at->first, offset_bytes);
    const uint64_t last = std::min(at->first + at->second.size, end);
    std::memcpy(into.data() + (first - offset_bytes),
                at->second.bytes().data() + (first - at->first), last - first);
  }
  --reads_;
  return count_bytes;
}

}  // namespace nfswalk::nfs
