#include "nfsclient/superblock/cache_limits.h"

#include <algorithm>

namespace nfswalk::nfs {
namespace {

// An inode, a dentry and their share of the tables, as `bench/memory` measures them.
constexpr uint64_t kFileBytes = 500;
constexpr uint64_t kShare = 4;
constexpr uint64_t kMostObjects = 16'000'000;
constexpr uint64_t kDirtyShare = 16;
constexpr uint64_t kLeastDirtyBytes = 4 << 20;
constexpr uint64_t kMostDirtyBytes = 64 << 20;

}  // namespace

size_t ObjectsIn(uint64_t bytes) {
  return std::clamp<uint64_t>(bytes / kShare / kFileBytes, kLeastObjects, kMostObjects);
}

size_t DirtyBytesIn(uint64_t bytes) {
  return std::clamp<uint64_t>(bytes / kDirtyShare, kLeastDirtyBytes, kMostDirtyBytes);
}

CacheLimits LimitsOf(const MountOptions& options, const std::string& root) {
  CacheLimits limits{.dentries = options.dentries_max.value_or(0),
                     .inodes = options.inodes_max.value_or(0),
                     .access_entries = options.access_entries_max.value_or(0),
                     .dirty_bytes = 0,
                     .source = LimitSource::kOptions};
  const MemoryAllowance allowance = AllowedMemory(root);
  limits.dirty_bytes = options.dirty_bytes_max.value_or(DirtyBytesIn(allowance.bytes));
  if (options.dentries_max && options.inodes_max && options.access_entries_max) return limits;
  const size_t objects = ObjectsIn(allowance.bytes);
  if (!options.dentries_max) limits.dentries = objects;
  if (!options.inodes_max) limits.inodes = objects;
  if (!options.access_entries_max) limits.access_entries = objects;
  limits.source = allowance.source;
  return limits;
}

}  // namespace nfswalk::nfs
