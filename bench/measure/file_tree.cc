#include "bench/measure/file_tree.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

// Each returns 0 or errno. `path` is relative to `root_fd`; no component of it is a link, because
// parents are directories of the tree.
int MakeFile(int root_fd, const char* path, const FileNode& node) {
  const int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  int error = 0;
  if (ftruncate(fd, static_cast<off_t>(node.size_bytes)) != 0) error = errno;
  if (error == 0 && fchmod(fd, node.permissions) != 0) error = errno;
  close(fd);
  return error;
}

int MakeDirectory(int root_fd, const char* path, const FileNode& node) {
  if (mkdirat(root_fd, path, 0700) != 0) return errno;
  return fchmodat(root_fd, path, node.permissions, 0) == 0 ? 0 : errno;
}

int MakeSpecial(int root_fd, const char* path, const FileNode& node) {
  const dev_t device = makedev(node.rdev_major, node.rdev_minor);
  if (mknodat(root_fd, path, node.type | 0600, device) != 0) return errno;
  return fchmodat(root_fd, path, node.permissions, 0) == 0 ? 0 : errno;
}

int MakeNode(int root_fd, const char* path, const FileNode& node) {
  switch (node.type) {
    case S_IFDIR:
      return MakeDirectory(root_fd, path, node);
    case S_IFREG:
      return MakeFile(root_fd, path, node);
    case S_IFLNK:
      return symlinkat(node.link_text.c_str(), root_fd, path) == 0 ? 0 : errno;
    default:
      return MakeSpecial(root_fd, path, node);
  }
}

}  // namespace

FileTree EmptyTree() { return {{"", {.type = S_IFDIR, .permissions = 0755}}}; }

void AddWithParents(FileTree& tree, const std::string& path, const FileNode& node) {
  for (size_t end = path.rfind('/'); end != 0; end = path.rfind('/', end - 1)) {
    const FileNode directory{.type = S_IFDIR, .permissions = 0755};
    if (!tree.emplace(path.substr(0, end), directory).second) break;
  }
  tree[path] = node;
}

Outcome MakeLocally(const FileTree& tree, int root_fd) {
  for (const auto& [path, node] : tree) {
    if (path.empty()) continue;
    if (Interrupted()) return {};
    if (const int error = MakeNode(root_fd, path.c_str() + 1, node); error != 0) {
      return std::unexpected(fmt::format("cannot make {}: {}", path, std::strerror(error)));
    }
  }
  if (fchmodat(root_fd, ".", tree.at("").permissions, 0) != 0) {
    return std::unexpected(
        fmt::format("cannot set the mode of the tree's root: {}", std::strerror(errno)));
  }
  return {};
}

}  // namespace nfswalk::bench
