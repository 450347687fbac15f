#include "bench/cold_walk/cold_tree.h"

#include <algorithm>
#include <random>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOrderSeed = 4;

// 1000 directories are ten times ten times ten.
std::string PathOf(uint64_t file) {
  const uint64_t directory = file / ColdTree::kFilesPerDirectory;
  return fmt::format("/wide/part{}/{}/{}/{}/file{}", directory / 1000, directory / 100 % 10,
                     directory / 10 % 10, directory % 10, file);
}

}  // namespace

ColdTree::ColdTree(uint64_t files) {
  paths_.reserve(files);
  for (uint64_t file = 0; file < files; ++file) paths_.push_back(PathOf(file));
  for (uint64_t file = 0; file < 2 * files; ++file) {
    large_.push_back(fmt::format("/file{}", file));
  }
  std::mt19937 random(kOrderSeed);
  std::ranges::shuffle(paths_, random);
  std::ranges::shuffle(large_, random);
}

FileTree ColdTree::Build() const {
  FileTree tree = EmptyTree();
  for (const std::string& path : paths_) AddWithParents(tree, kWalked + path, {});
  for (const std::string& path : large_) AddWithParents(tree, kLarge + path, {});
  AddWithParents(tree, kWalked + std::string(kDeepFile), {});
  return tree;
}

}  // namespace nfswalk::bench
