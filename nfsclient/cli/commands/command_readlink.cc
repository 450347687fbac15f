#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/show/link_target.h"

namespace nfswalk::cli {
namespace {

void ReadlinkOne(Session& session, const std::string& path) {
  const auto target = ReadLinkTarget(session.client(), path, session.credential());
  if (!target) return session.Fail(path, target.error());
  if (session.json()) {
    JsonObject object = PathJson(path);
    AddBytes(object, "target", *target);
    return session.Print(object);
  }
  session.console().Print(session.console().ForOutput(*target) + "\n");
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const ReadlinkOptions& /*options*/) {
  for (const std::string& path : paths) {
    if (session.done()) return;
    ReadlinkOne(session, path);
    session.console().Advance(1, "paths");
  }
}

}  // namespace nfswalk::cli
