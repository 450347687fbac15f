#include "bench/inode_scale/summary.h"

#include <algorithm>

namespace nfswalk::bench {

void Summary::Add(const Timing& timing) {
  Key key{timing.workload, icache::PolicyLabel(timing.policy), timing.threads};
  std::vector<Timing>& repetitions = timings_of_[key];
  if (repetitions.empty()) order_.push_back(std::move(key));
  repetitions.push_back(timing);
  ++timings_;
  if (timing.threads <= processors_ && timing.time.cpu_share < kCpuShareMin) ++disturbed_;
}

ScaleRow Summary::RowOf(const std::vector<Timing>& repetitions) const {
  std::vector<Timing> sorted = repetitions;
  std::ranges::sort(sorted, {}, [](const Timing& timing) { return timing.time.seconds; });
  const Timing& median = sorted[sorted.size() / 2];
  return {.workload = std::string(WorkloadName(median.workload)),
          .hash = std::string(icache::PolicyLabel(median.policy.hash)),
          .list = std::string(icache::PolicyLabel(median.policy.list)),
          .lru = std::string(icache::PolicyLabel(median.policy.lru)),
          .threads = median.threads,
          .fill_ns = fill_ns_,
          .seconds = median.time.seconds,
          .seconds_min = sorted.front().time.seconds,
          .seconds_max = sorted.back().time.seconds,
          .inodes_per_s = static_cast<double>(median.inodes) / median.time.seconds,
          .global_acq_per_inode =
              static_cast<double>(median.global_acquisitions) / static_cast<double>(median.inodes),
          .efficiency = 0};
}

std::vector<ScaleRow> Summary::Rows() const {
  std::vector<ScaleRow> rows;
  for (const Key& key : order_) {
    ScaleRow row = RowOf(timings_of_.at(key));
    const auto alone = timings_of_.find({std::get<0>(key), std::get<1>(key), 1});
    if (alone != timings_of_.end()) {
      row.efficiency =
          Efficiency(RowOf(alone->second).seconds, row.seconds, row.threads, processors_);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nfswalk::bench
