#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/destination.h"

namespace nfswalk::cli {

void RunCommand(Session& session, const Paths& paths, const LnOptions& options) {
  PlaceEach(session, paths, [&](const std::string& target, const std::string& path) {
    if (!options.symbolic) return session.client().Link(target, path, session.credential());
    const auto made = session.client().MakeSymlink(target, path, session.credential());
    return made ? std::errc{} : made.error();
  });
}

}  // namespace nfswalk::cli
