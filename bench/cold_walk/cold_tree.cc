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
  return fmt::format("wide/part{}/{}/{}/{}/file{}", directory / 1000, directory / 100 % 10,
                     directory / 10 % 10, directory % 10, file);
}

void AddWithParents(Tree& tree, const std::string& canonical) {
  for (std::string_view parent = ParentOf(canonical); !parent.empty(); parent = ParentOf(parent)) {
    tree.Node(parent) = {.type = S_IFDIR, .permissions = 0755};
  }
  tree.Node(canonical) = {.type = S_IFREG, .permissions = 0644, .size_bytes = 0};
}

}  // namespace

ColdTree::ColdTree(uint64_t files) {
  paths_.reserve(files);
  for (uint64_t file = 0; file < files; ++file) paths_.push_back(PathOf(file));
  std::mt19937 random(kOrderSeed);
  std::ranges::shuffle(paths_, random);
}

Tree ColdTree::Build() const {
  Tree tree;
  tree.Node("") = {.type = S_IFDIR, .permissions = 0755};
  for (const std::string& path : paths_) AddWithParents(tree, "/" + path);
  AddWithParents(tree, std::string("/") + kDeepFile);
  return tree;
}

}  // namespace nfswalk::bench
