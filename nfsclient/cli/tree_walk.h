// tree_walk: a directory tree, its directories listed ahead by several threads.
//
// The visitor is called by the calling thread alone, and sees what a walk by one thread would see,
// in that order: each directory before its entries, depth first, in the server's order.
//
// The tree may change meanwhile: no link that takes the name of a file or a directory leads
// the walk out of it. Symbolic links are not followed; a directory is held by a Node, entered from
// that of its parent by one name, and listed only if it is the directory that was listed there. A
// visitor makes its changes in the same way: by the entry's directory and name, or by
// ResolveListed().
//
// Memory: the entries of the directories between the start and the position, and what was listed
// ahead: at most kAheadDirectories directories, or kAheadEntries entries and one more directory for
// each thread, on each level of the tree. Each of these directories has a Node, which pins its
// inode.
#ifndef NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_
#define NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <system_error>

#include "nfsclient/client.h"

namespace nfswalk::cli {

class LocalDescriptor;

// A file where it was seen: under `name` in a directory of an export, or of this machine, that is
// held. At depth 0 `name` is the path that the user named.
struct TreeEntry {
  std::string path;  // for people
  size_t depth = 0;  // 0: where the walk begins
  Attributes attributes = {};
  std::string name = {};
  std::shared_ptr<const Node> directory = nullptr;
  std::shared_ptr<const LocalDescriptor> local_directory = nullptr;
  bool follows_link = false;  // the attributes are those of what a link as last component leads to
};

// Whether both are attributes of one file, as far as these can tell: type, file id and fsid.
bool IsSameFile(const Attributes& a, const Attributes& b);

// The file of an export that the entry is, whatever its attributes are by now. protocol::kStale if
// its name is that of another file, for example a link.
Result<std::unique_ptr<Node>> ResolveListed(const TreeEntry& entry, const Credential& credential);

class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;

  virtual void Enter(const TreeEntry& entry) = 0;
  // After the entries of a directory that was looked into, whether or not that succeeded.
  virtual void Leave(const TreeEntry& /*directory*/) {}
  // A file whose attributes cannot be read, or a directory that cannot be listed to its end.
  virtual void Fail(const std::string& path, std::errc error) = 0;
  // The rest of the walk is not needed.
  virtual bool done() const = 0;
};

struct TreeOptions {
  static constexpr unsigned kThreadsMax = 64;
  static constexpr size_t kAheadDirectories = 64;
  static constexpr size_t kAheadEntries = 65536;
  // A directory below a longer path is not listed (filename_too_long): a server may nest them
  // without end. The same as of all paths of the client.
  static constexpr size_t kPathBytesMax = 4095;

  unsigned threads = 8;  // 1..kThreadsMax; 1: the calling one alone
  size_t depth_max = std::numeric_limits<size_t>::max();
};

// `start`: a path from the export's root. Borrows everything until it returns, which may take as
// long as a call to the server.
void WalkTree(Client& client, const Credential& credential, const std::string& start,
              const TreeOptions& options, TreeVisitor& visitor);
// Walks from `start`, whose attributes are not used.
void WalkTree(const TreeEntry& start, const Credential& credential, const TreeOptions& options,
              TreeVisitor& visitor);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_
