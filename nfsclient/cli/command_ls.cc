#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/color.h"
#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/listing.h"
#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Lists directories, sorted by the bytes of the names; the root of the export if no PATH is "
    "given.\n"
    "Users and groups are called as this machine calls their numbers.\n"
    "\n"
    "Examples:\n"
    "  nfswalk ls nfs://server/export\n"
    "  nfswalk ls -lah nfs://server/export usr/include\n"
    "  nfswalk ls -lt --color=always nfs://server/export var/log | less -R\n"
    "  nfswalk ls --json nfs://server/export home | jq -r .name\n";

struct LsOptions {
  ListingOptions listing;
  ColorWhen color = ColorWhen::kAuto;
  bool all = false;
  bool almost_all = false;
  bool by_time = false;
  bool by_size = false;
  bool recursive = false;
  bool directory_itself = false;
};

class Ls {
 public:
  Ls(Session& session, const LsOptions& options)
      : session_(session), options_(options), listing_(session, options.listing) {}

  // Files come first, as one listing, then the directories.
  void Run(const std::vector<std::string>& paths) {
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

void DeclareFlags(CLI::App& command, LsOptions& options) {
  // -h is for sizes here, as in ls(1).
  command.set_help_flag("--help", "print this help message and exit");
  command.add_flag("-a,--all", options.all, "also names that begin with a dot, and . and ..");
  command.add_flag("-A,--almost-all", options.almost_all, "the same without . and ..");
  command.add_flag("-d,--directory", options.directory_itself, "directories themselves");
  command.add_flag("-l,--long", options.listing.details,
                   "type, rights, owner, size and time of each");
  command.add_flag("-n,--numeric-uid-gid", options.listing.style.numeric,
                   "as -l, with users and groups as numbers");
  command.add_flag("-h,--human-readable", options.listing.style.human,
                   "with -l: sizes as 1.5K, 12M");
  command.add_flag("-R,--recursive", options.recursive, "also what is in directories below");
  command.add_flag("-r,--reverse", options.listing.reversed, "the other way round");
  CLI::Option* by_time = command.add_flag("-t", options.by_time, "the newest first");
  command.add_flag("-S", options.by_size, "the largest first")->excludes(by_time);
  AddValue(command, "--color", options.color, "colour names by type: auto, always or never",
           ParseColorWhen)
      ->type_name("WHEN");
}

}  // namespace

void AddLsCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("ls", "list directories");
  DeclareCommonOptions(*command, invocation.common, Paths::kDefaultToRoot, kExamples);
  auto options = std::make_shared<LsOptions>();
  DeclareFlags(*command, *options);
  command->callback([&invocation, options] {
    ListingOptions& listing = options->listing;
    listing.details |= listing.style.numeric;
    if (options->by_time) listing.order = ListOrder::kTime;
    if (options->by_size) listing.order = ListOrder::kSize;
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      options->listing.colored =
          !session.json() && UseColor(options->color, session.console().out_is_terminal());
      Ls(session, *options).Run(paths);
    };
  });
}

}  // namespace nfswalk::cli
