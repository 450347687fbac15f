#include "nfsclient/cli/link_target.h"

#include <cstddef>

namespace nfswalk::cli {

Result<std::string> ReadLinkTarget(Session& session, std::string_view path) {
  for (size_t room = 4096;; room *= 2) {
    std::string target(room, '\0');
    const Result<size_t> length = session.client().ReadLink(path, target, session.credential());
    if (!length) return std::unexpected(length.error());
    // A full buffer may have cut the text (readlink(2)).
    if (*length == room) continue;
    target.resize(*length);
    return target;
  }
}

}  // namespace nfswalk::cli
