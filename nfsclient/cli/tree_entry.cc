#include "nfsclient/cli/tree_entry.h"

#include <memory>
#include <system_error>

namespace nfswalk::cli {

bool IsSameFile(const Attributes& a, const Attributes& b) {
  return a.type == b.type && a.fileid == b.fileid && a.fsid == b.fsid;
}

Result<std::unique_ptr<Node>> ResolveListed(const TreeEntry& entry, const Credential& credential) {
  auto node = entry.directory->Resolve(entry.name, credential, {.no_follow = true});
  if (node && !IsSameFile((*node)->attributes(), entry.attributes)) {
    return std::unexpected(protocol::kStale);
  }
  // The directory of the name is gone, and so is all that was in it.
  if (!node && node.error() == protocol::kStale) {
    return std::unexpected(std::errc::no_such_file_or_directory);
  }
  return node;
}

}  // namespace nfswalk::cli
