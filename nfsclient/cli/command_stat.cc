#include <memory>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/link_target.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Prints what the server says about each PATH. A symbolic link shows itself, unless -L is "
    "given.\n"
    "\n"
    "Examples:\n"
    "  nfswalk stat nfs://server/export usr/include/stdio.h\n"
    "  nfswalk stat --json 'nfs://server/export?actimeo=600' usr bin | jq .size_bytes\n";

void StatOne(Session& session, const std::string& path, bool follow) {
  const auto attributes = session.client().Stat(path, session.credential(), {.no_follow = !follow});
  if (!attributes) return session.Fail(path, attributes.error());
  std::string target;
  if (attributes->type == protocol::FileType::kSymlink) {
    auto read = ReadLinkTarget(session, path);
    if (!read) return session.Fail(path, read.error());
    target = *std::move(read);
  }
  if (session.json()) {
    Json object = PathJson(path);
    AddAttributes(object, *attributes);
    if (!target.empty()) AddBytes(object, "target", target);
    return session.Print(object);
  }
  Console& console = session.console();
  std::string title = console.ForOutput(path);
  if (!target.empty()) title += " -> " + console.ForOutput(target);
  console.Print(StatBlock(title, *attributes));
}

}  // namespace

void AddStatCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("stat", "show type, rights, owner, size and times");
  DeclareCommonOptions(*command, invocation.common, Paths::kOneOrMore, kExamples);
  auto follow = std::make_shared<bool>(false);
  command->add_flag("-L,--dereference", *follow, "show what a symbolic link points to");
  command->callback([&invocation, follow] {
    invocation.run = [&paths = invocation.common.paths, follow](Session& session) {
      for (const std::string& path : paths) {
        if (session.done()) return;
        StatOne(session, path, *follow);
        session.console().Advance(1, "paths");
      }
    };
  });
}

}  // namespace nfswalk::cli
