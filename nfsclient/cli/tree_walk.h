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

#include <string>
#include <system_error>

#include "nfsclient/cli/tree_entry.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

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

// `start`: a path from the export's root. Borrows everything until it returns, which may take as
// long as a call to the server.
void WalkTree(Client& client, const Credential& credential, const std::string& start,
              const TreeOptions& options, TreeVisitor& visitor);
// Walks from `start`, whose attributes are not used.
void WalkTree(const TreeEntry& start, const Credential& credential, const TreeOptions& options,
              TreeVisitor& visitor);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_TREE_WALK_H_
