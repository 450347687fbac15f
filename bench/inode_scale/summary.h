// summary: the timings of a plan as rows, one for each workload, bundle and number of threads.
#ifndef NFSWALK_BENCH_INODE_SCALE_SUMMARY_H_
#define NFSWALK_BENCH_INODE_SCALE_SUMMARY_H_

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/inode_scale/driver.h"
#include "bench/inode_scale/scale_row.h"

namespace nfswalk::bench {

class Summary {
 public:
  // `processors` of this machine, for the efficiency.
  Summary(uint64_t fill_ns, size_t processors) : fill_ns_(fill_ns), processors_(processors) {}

  void Add(const Timing& timing);

  // In the order in which they were first added.
  std::vector<ScaleRow> Rows() const;

  // Timings whose threads got less than this share of the processor time they asked for: other work
  // on the machine, and their figures are worth less.
  static constexpr double kCpuShareMin = 0.9;
  size_t disturbed() const { return disturbed_; }
  size_t timings() const { return timings_; }

 private:
  using Key = std::tuple<Workload, std::string, size_t>;  // workload, bundle, threads

  ScaleRow RowOf(const std::vector<Timing>& repetitions) const;

  const uint64_t fill_ns_;
  const size_t processors_;
  std::vector<Key> order_;
  std::map<Key, std::vector<Timing>> timings_of_;
  size_t disturbed_ = 0;
  size_t timings_ = 0;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_INODE_SCALE_SUMMARY_H_
