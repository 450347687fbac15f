#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/destination.h"

namespace nfswalk::cli {

void RunCommand(Session& session, const Paths& paths, const MvOptions& /*options*/) {
  PlaceEach(session, paths, [&](const std::string& from, const std::string& to) {
    return session.client().Rename(from, to, session.credential());
  });
}

}  // namespace nfswalk::cli
