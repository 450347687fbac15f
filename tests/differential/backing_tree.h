// backing_tree: the files of the export, made and changed without NFS.
//
// Access times of all files lie in the far future, so that the kernel updates none (relatime,
// mount(8)): the server follows links and lists directories for the client, which would change what
// is compared.
//
// Thread safety: one thread at a time.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_BACKING_TREE_H_
#define NFSWALK_TESTS_DIFFERENTIAL_BACKING_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::differential {

// Makes files. Every call aborts on an error.
class BackingTree {
 public:
  // `directory`: the export's, which exists.
  explicit BackingTree(std::string directory);

  // Returns the path of an export's `path` without NFS.
  std::string At(std::string_view path) const { return directory_ + "/" + std::string(path); }

  void Directory(const std::string& path, uint32_t mode = 0755, uint32_t uid = 0, uint32_t gid = 0);
  void File(const std::string& path, uint64_t size_bytes = 0, uint32_t mode = 0644,
            uint32_t uid = 0, uint32_t gid = 0);
  void Link(std::string_view target, const std::string& path);
  void HardLink(const std::string& existing, const std::string& path);
  // `type`: as inode(7), S_IFIFO and so on.
  void Node(const std::string& path, mode_t type, dev_t device = 0);

 private:
  void Finish(const std::string& path, bool link, uint32_t mode, uint32_t uid, uint32_t gid);

  const std::string directory_;
};

// True if nfs-ganesha takes such a directory for a referral, whose contents version 4 does not look
// up (docs/protocols.md).
constexpr bool IsReferral(uint32_t mode) { return (mode & 01000) != 0 && (mode & 0111) == 0; }

// Paths of a tree, from the export's root, of which questions are made.
struct Inventory {
  std::vector<std::string> rights;  // files and directories of sampled modes and owners
  std::vector<std::string> directories;
  std::vector<std::string> files;  // neither directories nor links
  std::vector<std::string> links;
  std::vector<std::string> names;  // one component each, of every valid byte
  std::vector<std::string> all;
};

// Makes all modes and owners, file types, hard links, deep and wide directories, names of every
// byte, and links of all kinds. Deterministic for a `seed`.
Inventory BuildTree(BackingTree& tree, uint64_t seed);

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_BACKING_TREE_H_
