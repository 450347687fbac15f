#include <cstdint>
#include <string>

#include "nfsclient/cli/commands/commands.h"

namespace nfswalk::cli {
namespace {

uint32_t ModeOf(const AccessOptions& wanted) {
  return (wanted.read ? kMayRead : 0) | (wanted.write ? kMayWrite : 0) |
         (wanted.execute ? kMayExecute : 0);
}

void AccessOne(Session& session, const std::string& path, const AccessOptions& wanted) {
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

void RunCommand(Session& session, const Paths& paths, const AccessOptions& options) {
  for (const std::string& path : paths) {
    if (session.done()) return;
    AccessOne(session, path, options);
    session.console().Advance(1, "paths");
  }
}

}  // namespace nfswalk::cli
