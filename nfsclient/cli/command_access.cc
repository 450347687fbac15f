#include <memory>

#include "nfsclient/cli/commands.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Checks with the server, as access(2) does, whether the user may read, write, execute (search) "
    "each\n"
    "PATH; without -r, -w and -x, whether it exists. Prints the paths that are allowed; one that "
    "is\n"
    "not is an error.\n"
    "\n"
    "Examples:\n"
    "  nfswalk access -r -w nfs://server/export home/me/notes\n"
    "  nfswalk access -x --uid 1000 --gid 1000 --groups 4,24 nfs://server/export usr/bin/*\n";

struct Wanted {
  bool read = false;
  bool write = false;
  bool execute = false;
};

uint32_t ModeOf(const Wanted& wanted) {
  return (wanted.read ? kMayRead : 0) | (wanted.write ? kMayWrite : 0) |
         (wanted.execute ? kMayExecute : 0);
}

void AccessOne(Session& session, const std::string& path, const Wanted& wanted) {
  const std::errc error = session.client().Access(path, ModeOf(wanted), session.credential());
  if (error != std::errc{}) return session.Fail(path, error);
  if (!session.json()) {
    return session.console().Print(session.console().ForOutput(path) + ": allowed\n");
  }
  session.Print(PathJson(path)
                    .Set("read", wanted.read)
                    .Set("write", wanted.write)
                    .Set("execute", wanted.execute)
                    .Set("allowed", true));
}

}  // namespace

void AddAccessCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("access", "check whether a user may read, write, execute");
  DeclareCommonOptions(*command, invocation.common, Paths::kOneOrMore, kExamples);
  auto wanted = std::make_shared<Wanted>();
  command->add_flag("-r,--read", wanted->read, "may read");
  command->add_flag("-w,--write", wanted->write, "may write");
  command->add_flag("-x,--execute", wanted->execute, "may execute, or search a directory");
  command->callback([&invocation, wanted] {
    invocation.run = [&paths = invocation.common.paths, wanted](Session& session) {
      for (const std::string& path : paths) {
        if (session.done()) return;
        AccessOne(session, path, *wanted);
        session.console().Advance(1, "paths");
      }
    };
  });
}

}  // namespace nfswalk::cli
