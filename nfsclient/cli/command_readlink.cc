#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/link_target.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Prints where each symbolic link points to, one a line.\n"
    "\n"
    "Examples:\n"
    "  nfswalk readlink nfs://server/export usr/lib/libc.so\n"
    "  nfswalk readlink --json nfs://server/export etc/mtab etc/os-release\n";

void ReadlinkOne(Session& session, const std::string& path) {
  const auto target = ReadLinkTarget(session, path);
  if (!target) return session.Fail(path, target.error());
  if (session.json()) {
    JsonObject object = PathJson(path);
    AddBytes(object, "target", *target);
    return session.Print(object);
  }
  session.console().Print(session.console().ForOutput(*target) + "\n");
}

}  // namespace

void AddReadlinkCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("readlink", "show where symbolic links point to");
  DeclareCommonOptions(*command, invocation.common, Paths::kOneOrMore, kExamples);
  command->callback([&invocation] {
    invocation.run = [&paths = invocation.common.paths](Session& session) {
      for (const std::string& path : paths) {
        if (session.done()) return;
        ReadlinkOne(session, path);
        session.console().Advance(1, "paths");
      }
    };
  });
}

}  // namespace nfswalk::cli
