#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/listing.h"

namespace nfswalk::cli {
namespace {

class Ls {
 public:
  Ls(Session& session, const LsOptions& options)
      : session_(session), options_(options), listing_(session, options.listing) {}

  // Files come first, as one listing, then the directories.
  void Run(const Paths& paths) {
    std::vector<ListedEntry> files, directories;
    for (const std::string& path : paths) {
      if (session_.done()) return;
      const auto attributes = AttributesOf(path);
      if (!attributes) {
        session_.Fail(path, attributes.error());
        continue;
      }
      const bool inside =
          attributes->type == protocol::FileType::kDirectory && !options_.directory_itself;
      (inside ? directories : files).push_back({path, path, *attributes});
    }
    printed_ = !files.empty();
    listing_.Print(std::move(files), false);
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

  // An explicit stack: a server may nest as deep as a path is long.
  void ListTree(const std::string& start) {
    std::vector<std::string> waiting{start};
    while (!waiting.empty() && !session_.done()) {
      const std::string path = std::move(waiting.back());
      waiting.pop_back();
      const std::vector<ListedEntry> entries = ListOne(path);
      if (!options_.recursive) continue;
      for (const ListedEntry& entry : std::views::reverse(entries)) {
        if (entry.name != "." && entry.name != ".." && IsDirectory(entry)) {
          waiting.push_back(entry.path);
        }
      }
    }
  }

  bool IsDirectory(const ListedEntry& entry) {
    if (entry.attributes) return entry.attributes->type == protocol::FileType::kDirectory;
    const auto attributes =
        session_.client().Stat(entry.path, session_.credential(), {.no_follow = true});
    if (!attributes) session_.Fail(entry.path, attributes.error());
    return attributes && attributes->type == protocol::FileType::kDirectory;
  }

  std::vector<ListedEntry> ListOne(const std::string& path) {
    std::vector<ListedEntry> entries = ReadEntries(path);
    // A heading only where it could be unclear whose entries these are.
    if (headings_ && !session_.json()) {
      session_.console().Print((printed_ ? "\n" : "") + session_.console().ForOutput(path) + ":\n");
    }
    printed_ = true;
    return listing_.Print(std::move(entries), true);
  }

  std::vector<ListedEntry> ReadEntries(const std::string& path) {
    std::vector<ListedEntry> entries;
    if (options_.all) {
      entries.push_back({JoinPath(path, "."), "."});
      entries.push_back({JoinPath(path, ".."), ".."});
    }
    const bool dots = options_.all || options_.almost_all;
    const std::errc error =
        session_.client().ReadDir(path, session_.credential(), [&](const DirectoryEntry& entry) {
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
