// tree: a directory tree in memory, with the path resolution of path_resolution(7).
//
// It is what a trace says of the file system it ran on. Names are absolute canonical paths
// ("/usr/lib", the root is "").
#ifndef NFSWALK_BENCH_MAKE_REPLAY_TREE_H_
#define NFSWALK_BENCH_MAKE_REPLAY_TREE_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nfswalk::bench {

struct TreeNode {
  uint32_t type = 0;  // S_IFREG ..., 0: exists, but no call told as what
  std::optional<uint32_t> permissions = {};
  std::optional<uint64_t> size_bytes = {};
  std::optional<std::string> link_text = {};
  uint32_t rdev_major = 0;
  uint32_t rdev_minor = 0;
  bool executable = false;  // execve or access(X_OK) succeeded
};

inline bool IsSpecial(uint32_t type) {
  return type == S_IFCHR || type == S_IFBLK || type == S_IFIFO || type == S_IFSOCK;
}

// What a walk does at a name that is not in the tree.
enum class AtMissing {
  kFail,             // ENOENT, as the finished tree answers
  kAssumeDirectory,  // go on: while the tree is being learnt, only links matter
};

struct WalkResult {
  int error = 0;          // errno
  std::string canonical;  // where the walk ended; valid if error is 0
};

class Tree {
 public:
  Tree();

  // Called with the canonical path of every name looked up on the way, links included.
  using Visit = std::function<void(const std::string& canonical)>;
  WalkResult Walk(std::string_view path, bool no_follow, AtMissing at_missing,
                  const Visit& visit) const;

  const TreeNode* Find(std::string_view canonical) const;
  // Makes it where it does not exist. The parents are the caller's business.
  TreeNode& Node(std::string_view canonical);
  // All canonical paths without the root, parents before children.
  std::vector<std::string> SortedPaths() const;
  size_t size() const { return nodes_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, TreeNode, Hash, std::equal_to<>> nodes_;
};

// "/usr/lib" of "/usr/lib/x", "" of "/usr".
std::string_view ParentOf(std::string_view canonical);
// "x" of "/usr/lib/x".
std::string_view NameOf(std::string_view canonical);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_TREE_H_
