#include "bench/warm_stat/warm_tree.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOrderSeed = 6;
constexpr size_t kLinksDepth = 8;
// Directories of the first level of a tree of distinct files: 4096 files, 8 times 8 times 8
// times 8.
constexpr uint64_t kBitsOfFile = 12, kBitsOfDirectory = 3;

// The name of file `file`'s directory at `level` (from 1) of a tree in which files lie at `depth`.
std::string DirectoryName(size_t depth, size_t level, uint64_t file) {
  const uint64_t bits = kBitsOfDirectory + (kBitsOfFile - 2 * kBitsOfDirectory) * (level - 1) /
                                               std::max<size_t>(depth - 2, 1);
  return fmt::format("level{}-{}", level, file >> (kBitsOfFile - bits));
}

std::string DirectoryOf(size_t depth, uint64_t file, size_t first_level = 1) {
  std::string path;
  for (size_t level = first_level; level < depth; ++level) {
    path += level == 1 ? fmt::format("depth{}-", depth) : "";
    path += DirectoryName(depth, level, file) + "/";
  }
  return path;
}

std::string DistinctPath(size_t depth, uint64_t file) {
  return DirectoryOf(depth, file) + fmt::format("file{}.c", file);
}

// A link stands for the first two levels, so that the path has as many names less one.
std::string LinkName(uint64_t file) { return "to-" + DirectoryName(kLinksDepth + 1, 2, file); }

std::string PathInOneDirectory(uint64_t file) {
  return fmt::format("one/directory/that/lies/as/deep/here/file{}.c", file);
}

std::string PathInLargeTree(uint64_t file) {
  return fmt::format("a/tree/of/very/many/part{}/{}/file{}.c", file / 10'000, file / 100 % 100,
                     file);
}

}  // namespace

std::string Course::Name() const {
  constexpr std::string_view kNames[] = {"distinct", "same-file", "same-directory", "random",
                                         "in-order", "negative",  "links",          "open"};
  const std::string name(kNames[static_cast<size_t>(pattern)]);
  return files == 0 ? name : fmt::format("{}-{}", name, files);
}

FileTree WarmTree::Build() const {
  FileTree tree = EmptyTree();
  for (const Course course : Courses()) {
    if (course.pattern == Pattern::kNegative || course.pattern == Pattern::kLinks) continue;
    for (const std::string& path : PathsOf(course)) AddWithParents(tree, "/" + path, {});
  }
  for (uint64_t file = 0; file < kDistinctFiles; ++file) {
    AddWithParents(tree, "/" + DistinctPath(kLinksDepth + 1, file), {});
    tree["/" + LinkName(file)] = {
        .type = S_IFLNK,
        .permissions = 0777,
        .link_text =
            fmt::format("depth{}-{}/{}", kLinksDepth + 1, DirectoryName(kLinksDepth + 1, 1, file),
                        DirectoryName(kLinksDepth + 1, 2, file))};
  }
  return tree;
}

std::vector<Course> WarmTree::Courses() const {
  std::vector<Course> courses;
  for (const size_t depth : kDepths) courses.push_back({Pattern::kDistinct, depth});
  for (const Pattern pattern :
       {Pattern::kSameFile, Pattern::kSameDirectory, Pattern::kNegative, Pattern::kLinks,
        Pattern::kOpen, Pattern::kRandom, Pattern::kInOrder}) {
    courses.push_back({pattern});
  }
  for (const uint64_t files : kFilesOfSmallMaps) {
    if (files >= files_) continue;
    courses.push_back({.pattern = Pattern::kRandom, .files = files});
    courses.push_back({.pattern = Pattern::kInOrder, .files = files});
  }
  return courses;
}

std::vector<std::string> WarmTree::PathsOf(Course course) const {
  const uint64_t count = course.files != 0                           ? course.files
                         : course.of_large_tree()                    ? files_
                         : course.pattern == Pattern::kSameFile      ? 1
                         : course.pattern == Pattern::kSameDirectory ? kFilesOfOneDirectory
                                                                     : kDistinctFiles;
  std::vector<uint64_t> files(count);
  std::iota(files.begin(), files.end(), 0);
  std::mt19937 order(kOrderSeed);
  if (course.pattern == Pattern::kRandom) std::ranges::shuffle(files, order);
  std::vector<std::string> paths;
  paths.reserve(count);
  for (const uint64_t file : files) {
    switch (course.pattern) {
      case Pattern::kDistinct:
      case Pattern::kSameFile:
      case Pattern::kOpen:
        paths.push_back(DistinctPath(course.depth, file));
        break;
      case Pattern::kSameDirectory:
        paths.push_back(PathInOneDirectory(file));
        break;
      case Pattern::kRandom:
      case Pattern::kInOrder:
        paths.push_back(PathInLargeTree(file));
        break;
      case Pattern::kNegative:
        paths.push_back(DirectoryOf(course.depth, file) + fmt::format("none{}.c", file));
        break;
      case Pattern::kLinks:
        paths.push_back(LinkName(file) + "/" + DirectoryOf(kLinksDepth + 1, file, 3) +
                        fmt::format("file{}.c", file));
        break;
    }
  }
  return paths;
}

}  // namespace nfswalk::bench
