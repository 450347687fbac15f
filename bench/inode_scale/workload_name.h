// workload_name: the letters' workloads and their names.
#ifndef NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_
#define NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
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

inline constexpr std::string_view kWorkloadNames[] = {"create",   "walk",   "chmod", "unlink",
                                                      "bulkstat", "fstree", "warm"};

constexpr std::string_view WorkloadName(Workload workload) {
  return kWorkloadNames[static_cast<size_t>(workload)];
}

// The error lists what is accepted.
inline std::expected<Workload, std::string> ParseWorkload(std::string_view name) {
  const auto* const at = std::ranges::find(kWorkloadNames, name);
  if (at != std::end(kWorkloadNames)) return static_cast<Workload>(at - kWorkloadNames);
  std::string accepted;
  for (const std::string_view known : kWorkloadNames) {
    accepted += accepted.empty() ? "" : ", ";
    accepted += known;
  }
  return std::unexpected("workload '" + std::string(name) + "' is not known: accepted are " +
                         accepted);
}

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_WORKLOAD_NAME_H_
