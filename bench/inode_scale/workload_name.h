// workload_name: the letters' workloads and their names.
#ifndef NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_
#define NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_

#include <cstdint>
#include <expected>
#include <string>
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
};
inline constexpr Workload kAllWorkloads[] = {
    Workload::kCreate,   Workload::kWalk,   Workload::kChmod, Workload::kUnlink,
    Workload::kBulkstat, Workload::kFstree, Workload::kWarm};

std::string_view WorkloadName(Workload workload);
// The error lists what is accepted.
std::expected<Workload, std::string> ParseWorkload(std::string_view name);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_
