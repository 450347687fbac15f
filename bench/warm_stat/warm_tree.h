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
  kRandom,         // every file of a large tree, in an order that no prefetcher guesses
  kNegative,       // names that do not exist, in the directories of kDistinct
  kLinks,          // the files of kDistinct through a symbolic link
};

constexpr std::string_view NameOf(Pattern pattern) {
  constexpr std::string_view kNames[] = {"distinct", "same-file", "same-directory",
                                         "random",   "negative",  "links"};
  return kNames[static_cast<size_t>(pattern)];
}

// One list of paths: a pattern, and how many names each of its paths has.
struct Course {
  Pattern pattern = Pattern::kDistinct;
  size_t depth = 8;

  friend bool operator==(const Course&, const Course&) = default;
};

class WarmTree {
 public:
  static constexpr uint64_t kDistinctFiles = 4096;
  static constexpr uint64_t kFilesOfOneDirectory = 1024;
  static constexpr size_t kDepths[] = {1, 4, 8, 16};
  static constexpr size_t kRandomDepth = 4;

  // `random_files`: how many Pattern::kRandom goes over.
  explicit WarmTree(uint64_t random_files) : random_files_(random_files) {}

  FileTree Build() const;
  static std::vector<Course> Courses();
  std::vector<std::string> PathsOf(Course course) const;
  // The errno that stat of each path of `course` ends in, 0: a regular file.
  static int16_t ErrorOf(Course course) {
    return course.pattern == Pattern::kNegative ? ENOENT : 0;
  }

 private:
  const uint64_t random_files_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_WARM_STAT_WARM_TREE_H_
