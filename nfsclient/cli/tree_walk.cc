#include "nfsclient/cli/tree_walk.h"

#include <memory>
#include <utility>
#include <vector>

#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/listing_ahead.h"

namespace nfswalk::cli {
namespace {

class TreeWalk {
 public:
  TreeWalk(Client& client, const Credential& credential, const TreeOptions& options,
           TreeVisitor& visitor)
      : visitor_(visitor), ahead_(client, credential, options) {}

  // An explicit stack, since a server may nest as deep as a path is long.
  void Run(TreeEntry start, std::shared_ptr<ListedDirectory> inside) {
    Visit(std::move(start), std::move(inside));
    while (!stack_.empty() && !visitor_.done()) {
      Level& level = stack_.back();
      if (level.next == level.inside->children.size()) {
        visitor_.Leave(level.directory);
        stack_.pop_back();
        continue;
      }
      ListedChild& child = level.inside->children[level.next++];
      TreeEntry entry{JoinPath(level.directory.path, child.name), level.directory.depth + 1};
      if (!child.attributes) {
        visitor_.Fail(entry.path, child.attributes.error());
        continue;
      }
      entry.attributes = *child.attributes;
      Visit(std::move(entry), std::move(child.inside));
    }
  }

 private:
  struct Level {
    TreeEntry directory;
    std::shared_ptr<ListedDirectory> inside;
    size_t next = 0;  // of its children
  };

  void Visit(TreeEntry entry, std::shared_ptr<ListedDirectory> inside) {
    visitor_.Enter(entry);
    if (inside == nullptr || visitor_.done()) return;
    ahead_.Take(*inside);
    if (inside->error != std::errc{}) visitor_.Fail(entry.path, inside->error);
    stack_.push_back({std::move(entry), std::move(inside)});
  }

  TreeVisitor& visitor_;
  std::vector<Level> stack_;
  ListingAhead ahead_;
};

}  // namespace

void WalkTree(Client& client, const Credential& credential, const std::string& start,
              const TreeOptions& options, TreeVisitor& visitor) {
  const auto attributes = client.Stat(start, credential, {.no_follow = true, .dont_cache = true});
  if (!attributes) return visitor.Fail(start, attributes.error());
  std::shared_ptr<ListedDirectory> inside;
  if (attributes->type == protocol::FileType::kDirectory && options.depth_max > 0) {
    inside = std::make_shared<ListedDirectory>(start, Place());
  }
  TreeWalk(client, credential, options, visitor).Run({start, 0, *attributes}, std::move(inside));
}

}  // namespace nfswalk::cli
