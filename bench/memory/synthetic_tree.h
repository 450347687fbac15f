// synthetic_tree: a tree of any number of files that is not stored: names, places and file
// ids follow from the number of a file.
//
// partP/moduleD/NAME: a hundred files in a directory, a thousand directories in a part. A name has
// 10 to 14 bytes; with long names one in 16 has 72, more than a dentry holds within itself.
//
// Thread safety: as any value.
#ifndef NFSWALK_BENCH_MEMORY_SYNTHETIC_TREE_H_
#define NFSWALK_BENCH_MEMORY_SYNTHETIC_TREE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nfswalk::bench {

class SyntheticTree {
 public:
  static constexpr uint64_t kFilesOfDirectory = 100;
  static constexpr uint64_t kDirectoriesOfPart = 1000;
  static constexpr uint64_t kFilesMax = 100'000'000;  // as many as eight digits tell apart
  static constexpr uint64_t kOneLongIn = 16;
  static constexpr size_t kLongNameBytes = 72;
  // As many as a handle has that nfs-ganesha 4.3 gives out over version 3, from a tmpfs.
  static constexpr size_t kHandleBytes = 28;

  enum class Kind : uint8_t { kRoot, kPart, kDirectory, kFile };
  // Identifies a node: `number` counts the nodes of its kind from 0 through the whole tree.
  struct Node {
    Kind kind = Kind::kRoot;
    uint64_t number = 0;

    friend bool operator==(const Node&, const Node&) = default;
  };

  // Preconditions: 1 <= files <= kFilesMax.
  SyntheticTree(uint64_t files, bool long_names) : files_(files), long_names_(long_names) {}

  uint64_t files() const { return files_; }
  uint64_t directories() const { return (files_ - 1) / kFilesOfDirectory + 1; }
  uint64_t parts() const { return (directories() - 1) / kDirectoriesOfPart + 1; }

  std::string NameOf(Node node) const;
  std::string PathOfDirectory(uint64_t directory) const;
  std::string PathOfFile(uint64_t file) const;

  // The numbers of a directory's entries, all of one kind, are consecutive. Empty for a file.
  struct Entries {
    Kind kind = Kind::kFile;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  Entries EntriesOf(Node directory) const;
  // Nothing if it has no such entry.
  std::optional<Node> Find(Node directory, std::string_view name) const;

  // Different for each node; the root's is 1.
  static uint64_t IdOf(Node node);
  // Preconditions: `id` is that of a node.
  static Node NodeOf(uint64_t id);

 private:
  uint64_t files_;
  bool long_names_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_SYNTHETIC_TREE_H_
