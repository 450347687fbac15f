// backing_tree: the files behind the export, made and changed without NFS.
//
// The time of last access of everything made here lies in the far future, so that the kernel moves
// none (relatime, see mount(8)): whoever follows a link or lists a directory, as the server does
// for the client, would change what is to be compared.
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

// Makes entries. All abort if they cannot: the tree of a test is no matter of luck.
class BackingTree {
 public:
  // `directory`: what is exported; it is there already.
  explicit BackingTree(std::string directory);

  // Where `path` of the export is found without NFS.
  std::string At(std::string_view path) const { return directory_ + "/" + std::string(path); }

  void Directory(const std::string& path, uint32_t mode = 0755, uint32_t uid = 0, uint32_t gid = 0);
  void File(const std::string& path, uint64_t size_bytes = 0, uint32_t mode = 0644,
            uint32_t uid = 0, uint32_t gid = 0);
  void Link(std::string_view target, const std::string& path);
  void HardLink(const std::string& existing, const std::string& path);
  // `type`: of inode(7), S_IFIFO and so on.
  void Node(const std::string& path, mode_t type, dev_t device = 0);

 private:
  void Finish(const std::string& path, bool link, uint32_t mode, uint32_t uid, uint32_t gid);

  const std::string directory_;
};

// To nfs-ganesha such a directory is a referral to another server, which version 4 may not look
// into (docs/protocols.md).
constexpr bool IsReferral(uint32_t mode) { return (mode & 01000) != 0 && (mode & 0111) == 0; }

// What a tree holds that questions are made of: paths from the export's root.
struct Inventory {
  std::vector<std::string> rights;  // files and directories of sampled modes and owners
  std::vector<std::string> directories;
  std::vector<std::string> files;  // no directory, no link
  std::vector<std::string> links;
  std::vector<std::string> names;  // one component each, of every byte that a name may hold
  std::vector<std::string> all;
};

// Modes and owners, every type of file, hard links, deep and wide directories, names of every byte,
// links of all kinds. The same for the same seed.
Inventory BuildTree(BackingTree& tree, uint64_t seed);

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_BACKING_TREE_H_
