// scale_row: one workload, with one bundle of policies and one number of threads, all its
// repetitions together.
#ifndef NFSWALK_BENCH_INODE_SCALE_SCALE_ROW_H_
#define NFSWALK_BENCH_INODE_SCALE_SCALE_ROW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nfswalk::bench {

struct ScaleRow {
  std::string workload;  // "walk"
  // Labels of the policies: "H0", "L0", "U0".
  std::string hash;
  std::string list;
  std::string lru;
  size_t threads = 0;
  uint64_t fill_ns = 0;  // time the file system takes to read an inode
  double seconds = 0;    // the median; until the last thread was done
  double seconds_min = 0;
  double seconds_max = 0;
  double inodes_per_s = 0;          // of all threads together, in the median repetition
  double global_acq_per_inode = 0;  // acquisitions of locks that are one for the superblock
  double efficiency = 0;            // Efficiency()
};

inline constexpr std::string_view kBaselineBundle = "H0+L0+U0";

// "H3+L1+U1".
inline std::string BundleOf(const ScaleRow& row) {
  return row.hash + '+' + row.list + '+' + row.lru;
}

// The part of ideal speed that a run reached: 1 where the time grows only as it must, because there
// are more threads than processors. Every thread does the same work, whatever their number, so the
// ideal is a constant time up to there (docs/benchmarks.md). 0 without times or processors.
constexpr double Efficiency(double one_thread_s, double seconds, size_t threads,
                            size_t processors) {
  if (seconds <= 0 || processors == 0) return 0;
  const double share = static_cast<double>(threads) / static_cast<double>(processors);
  return one_thread_s * std::max(1.0, share) / seconds;
}

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_SCALE_ROW_H_
