#include "nfsclient/cli/tree_walk.h"

#include <memory>
#include <utility>
#include <vector>

#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/listing_threads.h"

namespace nfswalk::cli {
namespace {

class TreeWalk {
 public:
  TreeWalk(const Credential& credential, const TreeOptions& options, TreeVisitor& visitor)
      : visitor_(visitor), ahead_(credential, options) {}

  // `inside`: null unless the start is to be looked into. An explicit stack, since a server may
  // nest as deep as a path is long.
  void Run(const TreeEntry& start, std::shared_ptr<ListedDirectory> inside) {
    Visit(start, std::move(inside));
    while (!stack_.empty() && !visitor_.done()) {
      Level& level = stack_.back();
      ListedDirectory& directory = *level.inside;
      if (level.next == directory.children.size()) {
        visitor_.Leave(directory.entry);
        stack_.pop_back();
        continue;
      }
      ListedChild& child = directory.children[level.next++];
      if (child.inside != nullptr) {
        const TreeEntry entry = child.inside->entry;
        Visit(entry, std::move(child.inside));
      } else if (child.attributes) {
        Visit(EntryOf(directory, child), nullptr);
      } else {
        visitor_.Fail(JoinPath(directory.entry.path, child.name), child.attributes.error());
      }
    }
  }

 private:
  struct Level {
    std::shared_ptr<ListedDirectory> inside;
    size_t next = 0;  // of its children
  };

  void Visit(const TreeEntry& entry, std::shared_ptr<ListedDirectory> inside) {
    visitor_.Enter(entry);
    if (inside == nullptr || visitor_.done()) return;
    ahead_.Take(*inside);
    if (inside->error != std::errc{}) visitor_.Fail(entry.path, inside->error);
    stack_.push_back({std::move(inside)});
  }

  TreeVisitor& visitor_;
  std::vector<Level> stack_;
  ListingThreads ahead_;
};

}  // namespace

void WalkTree(const TreeEntry& start, const Credential& credential, const TreeOptions& options,
              TreeVisitor& visitor) {
  auto found = start.directory->Lookup(start.name, credential, {.dont_cache = true});
  if (!found) return visitor.Fail(start.path, found.error());
  if (found->node == nullptr) {
    return visitor.Fail(start.path, std::errc::no_such_file_or_directory);
  }
  TreeEntry entry = start;
  entry.attributes = found->attributes;
  std::shared_ptr<ListedDirectory> inside;
  if (entry.attributes.type == protocol::FileType::kDirectory && options.depth_max > 0) {
    inside = std::make_shared<ListedDirectory>(entry, Place(), std::move(found->node));
  }
  TreeWalk(credential, options, visitor).Run(entry, std::move(inside));
}

void WalkTree(Client& client, const Credential& credential, const std::string& start,
              const TreeOptions& options, TreeVisitor& visitor) {
  auto root = client.Resolve("/", credential);
  if (root && start.empty()) root = std::unexpected(std::errc::no_such_file_or_directory);
  if (!root) return visitor.Fail(start, root.error());
  WalkTree({.path = start, .name = start, .directory = std::move(*root)}, credential, options,
           visitor);
}

}  // namespace nfswalk::cli
