#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/listing.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

class Ls {
 public:
  Ls(Session& session, const LsOptions& options)
      : session_(session), options_(options), listing_(session, options.listing) {}

  // Files come first, as one listing, then the directories.
  void Run(const Paths& paths) {
    const auto root = session_.client().Resolve("/", session_.credential());
    std::vector<ListedEntry> files, directories;
    for (const std::string& path : paths) {
      if (session_.done()) return;
      const auto attributes = root ? AttributesOf(path) : std::unexpected(root.error());
      if (!attributes) {
        session_.Fail(path, attributes.error());
        continue;
      }
      const bool inside =
          attributes->type == protocol::FileType::kDirectory && !options_.directory_itself;
      (inside ? directories : files).push_back({path, path, *attributes});
    }
    if (!root) return;
    printed_ = !files.empty();
    listing_.Print(std::move(files), **root, false);
    listing_.Sort(directories);
    headings_ = paths.size() > 1 || options_.recursive;
    for (const ListedEntry& directory : directories) ListTree(directory.path);
  }

 private:
  // A link to nowhere shows itself.
  Result<Attributes> AttributesOf(const std::string& path) {
    const bool itself = options_.listing.details || options_.directory_itself;
    auto attributes = session_.client().Stat(path, session_.credential(), {.no_follow = itself});
    if (attributes || itself || attributes.error() != std::errc::no_such_file_or_directory) {
      return attributes;
    }
    return session_.client().Stat(path, session_.credential(), {.no_follow = true});
  }

  // An explicit stack: a server may nest as deep as a path is long. Each directory is entered from
  // the Node of the one above it, as WalkTree() has it.
  void ListTree(const std::string& start) {
    std::vector<TreeEntry> waiting{{.path = start}};
    while (!waiting.empty() && !session_.done()) {
      const TreeEntry entry = std::move(waiting.back());
      waiting.pop_back();
      const std::shared_ptr<const Node> directory = Resolve(entry);
      const std::vector<ListedEntry> entries = ListOne(entry.path, directory.get());
      if (!options_.recursive) continue;
      for (const ListedEntry& listed : std::views::reverse(entries)) {
        if (listed.name == "." || listed.name == "..") continue;
        const auto attributes = Complete(listed, *directory);
        if (!attributes || attributes->type != protocol::FileType::kDirectory) continue;
        waiting.push_back({.path = listed.path,
                           .depth = entry.depth + 1,
                           .attributes = *attributes,
                           .name = listed.name,
                           .directory = directory});
      }
    }
  }

  // Null, and a failure of its path, if it is not there any more. The start is what the user named,
  // also through a link.
  std::shared_ptr<const Node> Resolve(const TreeEntry& entry) {
    const bool is_too_long = entry.path.size() > TreeOptions::kPathBytesMax;
    auto node = is_too_long ? std::unexpected(std::errc::filename_too_long)
                : entry.depth == 0
                    ? session_.client().Resolve(entry.path, session_.credential())
                    : ResolveListed(entry, session_.credential());
    if (node) return std::move(*node);
    session_.Fail(entry.path, node.error());
    return nullptr;
  }

  Result<Attributes> Complete(const ListedEntry& entry, const Node& directory) {
    if (entry.attributes) return *entry.attributes;
    const auto attributes =
        directory.Stat(entry.name, session_.credential(), {.no_follow = true});
    if (!attributes) session_.Fail(entry.path, attributes.error());
    return attributes;
  }

  std::vector<ListedEntry> ListOne(const std::string& path, const Node* directory) {
    std::vector<ListedEntry> entries;
    if (directory != nullptr) entries = ReadEntries(path, *directory);
    // A heading only where it could be unclear whose entries these are.
    if (headings_ && !session_.json()) {
      session_.console().Print((printed_ ? "\n" : "") + session_.console().ForOutput(path) + ":\n");
    }
    printed_ = true;
    return directory != nullptr ? listing_.Print(std::move(entries), *directory, true) : entries;
  }

  std::vector<ListedEntry> ReadEntries(const std::string& path, const Node& directory) {
    std::vector<ListedEntry> entries;
    if (options_.all) {
      entries.push_back({JoinPath(path, "."), "."});
      entries.push_back({JoinPath(path, ".."), ".."});
    }
    const bool dots = options_.all || options_.almost_all;
    const std::errc error =
        directory.ReadDir("", session_.credential(), [&](const DirectoryEntry& entry) {
          session_.console().Advance(1, "entries");
          if (dots || !entry.name.starts_with('.')) {
            entries.push_back({JoinPath(path, entry.name), entry.name, entry.attributes});
          }
          return true;
        });
    if (error != std::errc{}) session_.Fail(path, error);
    return entries;
  }

  Session& session_;
  const LsOptions& options_;
  Listing listing_;
  bool headings_ = false;
  bool printed_ = false;  // a blank line separates what comes next
};

}  // namespace

void RunCommand(Session& session, const Paths& paths, const LsOptions& options) {
  Ls(session, options).Run(paths);
}

}  // namespace nfswalk::cli
