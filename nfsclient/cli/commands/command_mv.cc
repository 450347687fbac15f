#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/destination.h"

namespace nfswalk::cli {

void RunCommand(Session& session, const Paths& paths, const MvOptions& /*options*/) {
  const auto root = session.client().Resolve("/", session.credential());
  if (!root) return session.Fail(paths.back(), root.error());
  PlaceEach(session, paths,
            [&](const std::string& from, const Node& directory, const std::string& to) {
              return (*root)->Rename(from, directory, to, session.credential());
            });
}

}  // namespace nfswalk::cli
