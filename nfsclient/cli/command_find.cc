#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/find_filter.h"
#include "nfsclient/cli/tree_command.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Prints each PATH (the root of the export if none is given) and all that is below it, each\n"
    "directory before its entries, in the server's order, whatever the number of threads. All "
    "tests\n"
    "have to hold. Symbolic links are never followed. What cannot be read is an error; the search\n"
    "goes on. Options may be spelled as in find(1), too: -name, -type, -size ...\n"
    "\n"
    "Examples:\n"
    "  nfswalk find nfs://server/export usr -name '*.h' -type f\n"
    "  nfswalk find nfs://server/export home -size +100M -newer home/.backup-stamp\n"
    "  nfswalk find --print0 nfs://server/export home | xargs -0 -n1 echo\n"
    "  nfswalk find --json --maxdepth 1 nfs://server/export | jq -r .path\n";

struct FindOptions {
  FindFilter filter;
  TreeOptions tree;
  size_t depth_min = 0;
  std::optional<std::string> newer;  // a path of the export
  bool print0 = false;
};

class Search : public TreeVisitor {
 public:
  Search(Session& session, const FindOptions& options) : session_(session), options_(options) {}

  void Enter(const TreeEntry& entry) override {
    session_.console().Advance(1, "files");
    if (entry.depth < options_.depth_min) return;
    if (options_.filter.Matches(entry.path, entry.attributes)) Print(entry);
  }
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  void Print(const TreeEntry& entry) {
    if (session_.json()) {
      JsonObject object = PathJson(entry.path);
      AddAttributes(object, entry.attributes);
      return session_.Print(object);
    }
    if (options_.print0) return session_.console().Print(entry.path + '\0');
    session_.console().Print(session_.console().ForOutput(entry.path) + "\n");
  }

  Session& session_;
  const FindOptions& options_;
};

void Find(Session& session, const std::vector<std::string>& paths, FindOptions& options) {
  if (options.newer) {
    const auto reference = session.client().Stat(*options.newer, session.credential(),
                                                 {.no_follow = true, .dont_cache = true});
    if (!reference) return session.Fail(*options.newer, reference.error());
    options.filter.newer = reference->mtime;
  }
  Search search(session, options);
  for (const std::string& path : paths) {
    if (session.done()) return;
    WalkTree(session.client(), session.credential(), path, options.tree, search);
  }
}

std::expected<std::string, std::string> ParseText(const std::string& text) { return text; }

void DeclareTests(CLI::App& command, FindOptions& options) {
  FindFilter& filter = options.filter;
  AddValue(command, "--name", filter.name, "only files with such a name: * ? [a-z]", ParseText)
      ->type_name("PATTERN");
  AddValue(command, "--iname", filter.iname, "the same, whatever the case", ParseText)
      ->type_name("PATTERN");
  AddValue(command, "--path", filter.path, "only files with such a path; * matches a slash, too",
           ParseText)
      ->type_name("PATTERN");
  AddValue(command, "--type", filter.types, "only files of this type: f, d, l, b, c, p, s",
           ParseTypes)
      ->type_name("LETTER,...");
  AddValue(command, "--size", filter.size,
           "only files of this size: [+-]number[cwbkMG], as find(1)", ParseSizeTest)
      ->type_name("SIZE");
  AddValue(command, "--newer", options.newer, "only files modified after this one of the export",
           ParseText)
      ->type_name("PATH");
  AddValue(command, "--mindepth", options.depth_min, "not the first levels, so many, of each PATH",
           ParseNumber)
      ->type_name("NUMBER");
  AddValue(command, "--maxdepth", options.tree.depth_max, "at most so many levels below each PATH",
           ParseNumber)
      ->type_name("NUMBER");
}

}  // namespace

void AddFindCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("find", "walk directory trees");
  DeclareCommonOptions(*command, invocation.common, Paths::kDefaultToRoot, kExamples);
  auto options = std::make_shared<FindOptions>();
  DeclareTests(*command, *options);
  DeclareThreads(*command, options->tree);
  CLI::Option* print0 =
      command->add_flag("--print0", options->print0, "end each path with a NUL, not a newline");
  print0->excludes(command->get_option("--json"));
  command->callback([&invocation, options] {
    LimitCaches(invocation.common.mount);
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      Find(session, paths, *options);
    };
  });
}

}  // namespace nfswalk::cli
