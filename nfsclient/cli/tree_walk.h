// tree_walk: a directory tree, its directories listed ahead by several threads.
//
// The visitor is called by the calling thread alone, and sees what a walk by one thread would see,
// in that order: each directory before its entries, depth first, in the server's order. Symbolic
// links are not followed.
//
// Memory: the entries of the directories between the start and the position, and what was listed
// ahead: at most kAheadDirectories directories, or kAheadEntries entries and one more directory for
// each thread, on each level of the tree.
#ifndef NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_
#define NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_

#include <cstddef>
#include <limits>
#include <string>
#include <system_error>

#include "nfsclient/client.h"

namespace nfswalk::cli {

struct TreeEntry {
  std::string path;
  size_t depth = 0;  // 0: where the walk begins
  Attributes attributes = {};
};

class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;

  virtual void Enter(const TreeEntry& entry) = 0;
  // After the entries of a directory that was looked into, whether or not that succeeded.
  virtual void Leave(const TreeEntry& /*directory*/) {}
  // A file whose attributes cannot be read, or a directory that cannot be listed to its end.
  virtual void Fail(const std::string& path, std::errc error) = 0;
  // The rest of the walk is in vain.
  virtual bool done() const = 0;
};

struct TreeOptions {
  static constexpr unsigned kThreadsMax = 64;
  static constexpr size_t kAheadDirectories = 64;
  static constexpr size_t kAheadEntries = 65536;

  unsigned threads = 8;  // 1..kThreadsMax; 1: the calling one alone
  size_t depth_max = std::numeric_limits<size_t>::max();
};

// Borrows everything until it returns, which may take as long as a call to the server.
void WalkTree(Client& client, const Credential& credential, const std::string& start,
              const TreeOptions& options, TreeVisitor& visitor);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_
