// tree_entry: a file of a tree where it was seen, and the options that bound a walk of the tree.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_CLI_TREE_ENTRY_H_
#define NFSWALK_NFSCLIENT_CLI_TREE_ENTRY_H_

#include <cstddef>
#include <limits>
#include <memory>
#include <string>

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

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_TREE_ENTRY_H_
