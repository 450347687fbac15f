#include <string>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/link_target.h"
#include "nfsclient/cli/stat_format.h"

namespace nfswalk::cli {
namespace {

void StatOne(Session& session, const std::string& path, const StatOptions& options) {
  const auto attributes =
      session.client().Stat(path, session.credential(), {.no_follow = !options.follow});
  if (!attributes) return session.Fail(path, attributes.error());
  std::string target;
  if (attributes->type == protocol::FileType::kSymlink) {
    auto read = ReadLinkTarget(session, path);
    if (!read) return session.Fail(path, read.error());
    target = *std::move(read);
  }
  if (session.json()) {
    JsonObject object = PathJson(path);
    AddAttributes(object, *attributes);
    if (!target.empty()) AddBytes(object, "target", target);
    return session.Print(object);
  }
  Console& console = session.console();
  const StatSubject subject{path, target, console.out_is_terminal(), *attributes};
  console.Print(options.format ? options.format->Render(subject) + "\n" : StatBlock(subject));
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const StatOptions& options) {
  for (const std::string& path : paths) {
    if (session.done()) return;
    StatOne(session, path, options);
    session.console().Advance(1, "paths");
  }
}

}  // namespace nfswalk::cli
