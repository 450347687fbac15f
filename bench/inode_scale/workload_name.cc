#include "bench/inode_scale/workload_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace nfswalk::bench {

namespace {

constexpr std::string_view kNames[] = {"create",   "walk",   "chmod", "unlink",
                                       "bulkstat", "fstree", "warm"};

}  // namespace

std::string_view WorkloadName(Workload workload) { return kNames[static_cast<size_t>(workload)]; }

std::expected<Workload, std::string> ParseWorkload(std::string_view name) {
  const auto* const at = std::ranges::find(kNames, name);
  if (at != std::end(kNames)) return static_cast<Workload>(at - std::begin(kNames));
  std::string accepted;
  for (const std::string_view known : kNames) {
    if (!accepted.empty()) accepted += ", ";
    accepted += known;
  }
  return std::unexpected("workload '" + std::string(name) + "' is not known: accepted are " +
                         accepted);
}

}  // namespace nfswalk::bench
