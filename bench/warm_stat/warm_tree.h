// warm_tree: the tree that warm_stat walks over, and the paths of its courses.
#ifndef NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_
#define NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/make_replay/replay_plan.h"
#include "bench/make_replay/tree.h"
#include "bench/warm_stat/pattern.h"

namespace nfswalk::bench {

// The calls of a course. Their texts lie one behind the other in the order in which they are asked
// for, so that reading them costs every subject the same and little.
class CourseCalls {
 public:
  // Each call is expected to end in `error`, an errno, or in a regular file of mode 0644.
  CourseCalls(const std::vector<std::string>& paths, int16_t error);
  CourseCalls(const CourseCalls&) = delete;
  CourseCalls& operator=(const CourseCalls&) = delete;
  const std::vector<ReplayCall>& calls() const { return calls_; }

 private:
  std::string texts_;
  std::vector<ReplayCall> calls_;
};

class WarmTree {
 public:
  static constexpr uint64_t kDistinctFiles = 4096;
  static constexpr uint64_t kFilesOfOneDirectory = 1024;
  static constexpr size_t kDepths[] = {1, 4, 8, 16};
  static constexpr size_t kRandomDepth = 4;

  // `random_files`: how many Pattern::kRandom goes over.
  explicit WarmTree(uint64_t random_files) : random_files_(random_files) {}

  Tree Build() const;
  static std::vector<Course> Courses();
  CourseCalls CallsOf(Course course) const;

 private:
  std::vector<std::string> PathsOf(Course course) const;

  const uint64_t random_files_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_
