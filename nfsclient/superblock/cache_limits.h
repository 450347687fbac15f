// cache_limits: how many objects the caches of a mount hold, and how many bytes may be dirty.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_CACHE_LIMITS_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_CACHE_LIMITS_H_

#include <cstddef>

#include "nfsclient/memory/memory_allowance.h"
#include "nfsclient/superblock/mount_options.h"

namespace nfswalk::nfs {

struct CacheLimits {
  size_t dentries;
  size_t inodes;
  size_t access_entries;
  size_t dirty_bytes;
  // Decides the limits in objects that the options leave open; kOptions if they leave none.
  LimitSource source;
};

// Lower bound of every cache limit, in objects: a small tree and the directories above it.
inline constexpr size_t kLeastObjects = 10'000;

// The number of files whose inodes and dentries fill a quarter of `bytes`: at least kLeastObjects,
// and at most 16 million, about 8 GB, since other processes count on the same memory.
size_t ObjectsIn(uint64_t bytes);

// How much data that was written may wait for a COMMIT: a sixteenth of `bytes`, from 4 MiB to 64
// MiB, with which a server that is fast enough is kept busy.
size_t DirtyBytesIn(uint64_t bytes);

// The limits that the options give; the others from the memory that the process may use now.
CacheLimits LimitsOf(const MountOptions& options, const std::string& root = "");

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_CACHE_LIMITS_H_
