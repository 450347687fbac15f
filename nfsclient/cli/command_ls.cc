#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/link_target.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Lists directories, sorted by the bytes of the names; the root of the export if no PATH is "
    "given.\n"
    "Users and groups are numbers, as the server sends them.\n"
    "\n"
    "Examples:\n"
    "  nfswalk ls nfs://server/export\n"
    "  nfswalk ls -la nfs://server/export usr/include\n"
    "  nfswalk ls --json nfs://server/export home | jq -r .name\n";

struct LsOptions {
  bool all = false;
  bool details = false;
};

struct Entry {
  std::string path;
  std::string name;  // what is printed
  std::optional<Attributes> attributes;
};

// nullopt: failed, and said so.
std::optional<Attributes> AttributesOf(Session& session, const Entry& entry) {
  if (entry.attributes) return entry.attributes;
  const auto attributes =
      session.client().Stat(entry.path, session.credential(), {.no_follow = true});
  if (attributes) return *attributes;
  session.Fail(entry.path, attributes.error());
  return std::nullopt;
}

// "" for all but links. A link that cannot be read has been complained about.
std::string TargetOf(Session& session, const Entry& entry, const Attributes& attributes) {
  if (attributes.type != protocol::FileType::kSymlink) return {};
  auto target = ReadLinkTarget(session, entry.path);
  if (target) return *std::move(target);
  session.Fail(entry.path, target.error());
  return {};
}

void PrintJson(Session& session, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (session.done()) return;
    const auto attributes = AttributesOf(session, entry);
    if (!attributes) continue;
    const std::string target = TargetOf(session, entry, *attributes);
    Json object = PathJson(entry.path);
    AddBytes(object, "name", entry.name);
    AddAttributes(object, *attributes);
    if (!target.empty()) AddBytes(object, "target", target);
    session.Print(object);
  }
}

void PrintDetails(Session& session, const std::vector<Entry>& entries) {
  const Console& console = session.console();
  std::vector<ListedFile> files;
  for (const Entry& entry : entries) {
    const auto attributes = AttributesOf(session, entry);
    if (!attributes) continue;
    const std::string target = TargetOf(session, entry, *attributes);
    std::string title = console.ForOutput(entry.name);
    if (!target.empty()) title += " -> " + console.ForOutput(target);
    files.push_back({std::move(title), *attributes});
  }
  session.console().Print(LongListing(files));
}

void PrintEntries(Session& session, const LsOptions& options, const std::vector<Entry>& entries) {
  if (session.json()) return PrintJson(session, entries);
  if (options.details) return PrintDetails(session, entries);
  for (const Entry& entry : entries) {
    session.console().Print(session.console().ForOutput(entry.name) + "\n");
  }
}

std::vector<Entry> ReadEntries(Session& session, const LsOptions& options,
                               const std::string& path) {
  std::vector<Entry> entries;
  auto add = [&](std::string_view name, const std::optional<Attributes>& attributes) {
    entries.push_back({JoinPath(path, name), std::string(name), attributes});
    session.console().Advance(1, "entries");
  };
  if (options.all) {
    add(".", std::nullopt);
    add("..", std::nullopt);
  }
  const std::errc error =
      session.client().ReadDir(path, session.credential(), [&](const DirectoryEntry& entry) {
        if (options.all || !entry.name.starts_with('.')) add(entry.name, entry.attributes);
        return true;
      });
  if (error != std::errc{}) session.Fail(path, error);
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

// `heading`: printed above the entries of a directory.
void ListOne(Session& session, const LsOptions& options, const std::string& path,
             const std::string& heading) {
  const auto attributes =
      session.client().Stat(path, session.credential(), {.no_follow = options.details});
  if (!attributes) return session.Fail(path, attributes.error());
  if (attributes->type != protocol::FileType::kDirectory) {
    return PrintEntries(session, options, {{path, path, *attributes}});
  }
  const std::vector<Entry> entries = ReadEntries(session, options, path);
  if (!session.json()) session.console().Print(heading);
  PrintEntries(session, options, entries);
}

}  // namespace

void AddLsCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("ls", "list directories");
  DeclareCommonOptions(*command, invocation.common, Paths::kDefaultToRoot, kExamples);
  auto options = std::make_shared<LsOptions>();
  command->add_flag("-a,--all", options->all, "also names that begin with a dot, and . and ..");
  command->add_flag("-l,--long", options->details, "type, rights, owner, size and time of each");
  command->callback([&invocation, options] {
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      for (size_t i = 0; i < paths.size() && !session.done(); ++i) {
        std::string heading;  // only where it could be unclear whose entries these are
        if (paths.size() > 1) {
          heading = (i > 0 ? "\n" : "") + session.console().ForOutput(paths[i]) + ":\n";
        }
        ListOne(session, *options, paths[i], heading);
      }
    };
  });
}

}  // namespace nfswalk::cli
