// warm_tree: the tree that warm_stat walks over, and the paths of its courses.
#ifndef NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_
#define NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/file_tree.h"

namespace nfswalk::bench {

// Which paths are asked for, and in which order.
enum class Pattern : uint8_t {
  kDistinct,       // every file of a small tree in turn
  kSameFile,       // one file
  kSameDirectory,  // every file of one directory in turn
  kRandom,         // files of a large tree, in an order that no prefetcher guesses
  kInOrder,        // the same, directory by directory
  kNegative,       // names that do not exist, in the directories of kDistinct
  kLinks,          // the files of kDistinct through a symbolic link
  kOpen,           // the files of kDistinct, opened and closed
};

// One list of paths: a pattern, and how many names each of its paths has.
struct Course {
  Pattern pattern = Pattern::kDistinct;
  size_t depth = 8;
  uint64_t files = 0;  // kRandom, kInOrder: so many of the large tree; 0: all

  bool of_large_tree() const { return pattern == Pattern::kRandom || pattern == Pattern::kInOrder; }
  // "distinct", "random-1000".
  std::string Name() const;
  friend bool operator==(const Course&, const Course&) = default;
};

class WarmTree {
 public:
  static constexpr uint64_t kDistinctFiles = 4096;
  static constexpr uint64_t kFilesOfOneDirectory = 1024;
  static constexpr size_t kDepths[] = {1, 4, 8, 16};
  static constexpr uint64_t kFilesOfSmallMaps[] = {1'000, 100'000};

  // `files`: of the large tree.
  explicit WarmTree(uint64_t files) : files_(files) {}

  FileTree Build() const;
  std::vector<Course> Courses() const;
  std::vector<std::string> PathsOf(Course course) const;
  // The errno that stat of each path of `course` ends in, 0: a regular file.
  static int16_t ErrorOf(Course course) {
    return course.pattern == Pattern::kNegative ? ENOENT : 0;
  }

 private:
  const uint64_t files_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_
