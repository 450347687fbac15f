// file_tree: a tree of files to be made: in the backing directory of a server, on a tmpfs, or
// through NFS.
#ifndef NFSWALK_BENCH_MEASURE_FILE_TREE_H_
#define NFSWALK_BENCH_MEASURE_FILE_TREE_H_

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "bench/measure/outcome.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

struct FileNode {
  uint32_t type = S_IFREG;
  uint32_t permissions = 0644;
  uint64_t size_bytes = 0;  // sparse
  std::string link_text = {};
  uint32_t rdev_major = 0;
  uint32_t rdev_minor = 0;
};

// By path from the root, "/usr/lib"; the root is "". The order puts parents before children.
using FileTree = std::map<std::string, FileNode, std::less<>>;

// A tree of nothing but its root.
FileTree EmptyTree();
// Adds `path`, and the directories above it where they are missing.
void AddWithParents(FileTree& tree, const std::string& path, const FileNode& node);

// Fills the empty directory `root_fd`, and gives it the root's mode; the umask does not matter.
// Ends early after an interrupt; then and after an error what was made so far stays, here as below.
Outcome MakeLocally(const FileTree& tree, int root_fd);

// Makes the directory `name` in the root of the export and the tree beneath it, special files left
// out. As uid 0: the export must not squash it.
Outcome MakeThroughNfs(const FileTree& tree, Client& client, const std::string& name);
// Removes the directory `name` and all beneath it.
Outcome RemoveThroughNfs(Client& client, const std::string& name);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_FILE_TREE_H_
