#include <cstddef>
#include <expected>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/find_filter.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Prints each PATH (the root of the export if none is given) and all that is below it, each\n"
    "directory before its entries, in the server's order. Symbolic links are never followed. What\n"
    "cannot be read is an error; the search goes on.\n"
    "\n"
    "Examples:\n"
    "  nfswalk find nfs://server/export usr --name '*.h' --type f\n"
    "  nfswalk find --print0 nfs://server/export home | xargs -0 -n1 echo\n"
    "  nfswalk find --json --maxdepth 1 nfs://server/export | jq -r .path\n";

struct FindOptions {
  FindFilter filter;
  size_t depth_max = std::numeric_limits<size_t>::max();
  bool print0 = false;
};

struct Found {
  std::string path;
  std::optional<Attributes> attributes;
};

class Search {
 public:
  Search(Session& session, const FindOptions& options) : session_(session), options_(options) {}

  // Depth first. An explicit stack, since a server may nest as deep as a path is long.
  void Run(const std::string& start) {
    Visit({start, std::nullopt}, 0);
    while (!stack_.empty() && !session_.done()) {
      if (stack_.back().empty()) {
        stack_.pop_back();
        continue;
      }
      const Found found = std::move(stack_.back().back());
      stack_.back().pop_back();
      Visit(found, stack_.size());
    }
  }

 private:
  void Visit(const Found& found, size_t depth) {
    auto attributes = found.attributes;
    if (!attributes) {
      auto asked = session_.client().Stat(found.path, session_.credential(),
                                          {.no_follow = true, .dont_cache = true});
      if (!asked) return session_.Fail(found.path, asked.error());
      attributes = *asked;
    }
    session_.console().Advance(1, "files");
    if (options_.filter.Matches(found.path, attributes->type)) Print(found.path, *attributes);
    const bool directory = attributes->type == protocol::FileType::kDirectory;
    if (directory && depth < options_.depth_max) Push(found.path);
  }

  // The entries stand on the stack in reverse, to be taken from its end in the server's order.
  void Push(const std::string& directory) {
    std::vector<Found> entries;
    const std::errc error = session_.client().ReadDir(
        directory, session_.credential(), [&](const DirectoryEntry& entry) {
          entries.push_back({JoinPath(directory, entry.name), entry.attributes});
          return true;
        });
    if (error != std::errc{}) session_.Fail(directory, error);
    stack_.emplace_back(std::make_move_iterator(entries.rbegin()),
                        std::make_move_iterator(entries.rend()));
  }

  void Print(const std::string& path, const Attributes& attributes) {
    if (session_.json()) {
      Json object = PathJson(path);
      AddAttributes(object, attributes);
      return session_.Print(object);
    }
    if (options_.print0) return session_.console().Print(path + '\0');
    session_.console().Print(session_.console().ForOutput(path) + "\n");
  }

  Session& session_;
  const FindOptions& options_;
  std::vector<std::vector<Found>> stack_;  // one list of entries for each directory we are inside
};

std::expected<char, std::string> ParseType(const std::string& text) {
  static constexpr std::string_view kLetters = "fdlbcps";
  if (text.size() == 1 && kLetters.find(text[0]) != std::string_view::npos) return text[0];
  return std::unexpected("'" + text +
                         "': accepted is one of f (file), d (directory), l (link), b, c, p, s");
}

std::expected<std::string, std::string> ParsePattern(const std::string& text) { return text; }

}  // namespace

void AddFindCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("find", "walk directory trees");
  DeclareCommonOptions(*command, invocation.common, Paths::kDefaultToRoot, kExamples);
  auto options = std::make_shared<FindOptions>();
  AddValue(*command, "--name", options->filter.name, "only files with such a name: * ? [a-z]",
           ParsePattern)
      ->type_name("PATTERN");
  AddValue(*command, "--type", options->filter.type, "only files of this type: f, d, l, b, c, p, s",
           ParseType)
      ->type_name("LETTER");
  AddValue(*command, "--maxdepth", options->depth_max, "at most so many levels below each PATH",
           ParseNumber)
      ->type_name("NUMBER");
  CLI::Option* print0 =
      command->add_flag("--print0", options->print0, "end each path with a NUL, not a newline");
  print0->excludes(command->get_option("--json"));
  command->callback([&invocation, options] {
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      Search search(session, *options);
      for (const std::string& path : paths) {
        if (session.done()) return;
        search.Run(path);
      }
    };
  });
}

}  // namespace nfswalk::cli
