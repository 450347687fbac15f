// cold_tree: the tree that cold walks go over: files at depth 6, a hundred in a directory. Beside
// it a directory with twice as many files as the tree.
#ifndef NFSWALK_BENCH_COLD_WALK_COLD_TREE_H_
#define NFSWALK_BENCH_COLD_WALK_COLD_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/measure/file_tree.h"

namespace nfswalk::bench {

class ColdTree {
 public:
  static constexpr size_t kDepth = 6;
  static constexpr uint64_t kFilesPerDirectory = 100;
  // A file at depth 8, apart from the others.
  static constexpr const char* kDeepFile = "/deep/1/2/3/4/5/6/file";
  static constexpr size_t kDeepDepth = 8;

  explicit ColdTree(uint64_t files);

  // Within what Build() returns: what is walked, and the large directory.
  static constexpr const char* kWalked = "/walked";
  static constexpr const char* kLarge = "/large";

  // From kWalked on, "/wide/...", each once, in a random order that is the same every time; without
  // kDeepFile.
  const std::vector<std::string>& paths() const { return paths_; }
  // The files of the large directory, from there on, in such an order.
  const std::vector<std::string>& large() const { return large_; }
  FileTree Build() const;

 private:
  std::vector<std::string> paths_;
  std::vector<std::string> large_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_COLD_TREE_H_
