// workload_name: the workloads of the letters, one of their objections, and the names.
#ifndef NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_
#define NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nfswalk::bench {

enum class Workload : uint8_t {
  kCreate,    // new inode, insert, complete, put: kept
  kWalk,      // look up, read the attributes, put: kept
  kChmod,     // walk, lock, change the mode, mark dirty, put
  kUnlink,    // look up, no link left, put: evicted
  kBulkstat,  // look up, mark as not to be cached, read, put: evicted
  kFstree,    // walk with a cache for a quarter of the files: each evicts another
  kWarm,      // walk over files that are cached
  kPressure,  // look up a cached file or, in a full cache, a new one, which evicts another
};

inline constexpr auto kWorkloadNames = std::to_array<std::string_view>(
    {"create", "walk", "chmod", "unlink", "bulkstat", "fstree", "warm", "pressure"});

constexpr std::string_view WorkloadName(Workload workload) {
  return kWorkloadNames[static_cast<size_t>(workload)];
}

// Preconditions: `name` is one of kWorkloadNames.
constexpr Workload WorkloadOf(std::string_view name) {
  return static_cast<Workload>(std::ranges::find(kWorkloadNames, name) - kWorkloadNames.begin());
}

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_
