#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/destination.h"

namespace nfswalk::cli {

void RunCommand(Session& session, const Paths& paths, const LnOptions& options) {
  const Credential& who = session.credential();
  const auto root = session.client().Resolve("/", who);
  if (!root) return session.Fail(paths.back(), root.error());
  PlaceEach(session, paths,
            [&](const std::string& target, const Node& directory, const std::string& path) {
              if (!options.symbolic) return (*root)->Link(target, directory, path, who);
              const auto made = directory.MakeSymlink(target, path, who);
              return made ? std::errc{} : made.error();
            });
}

}  // namespace nfswalk::cli
