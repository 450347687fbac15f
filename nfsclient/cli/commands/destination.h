// destination: where cp, mv and ln put what they are given: at the last path, or, if that is a
// directory, in it.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_DESTINATION_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_DESTINATION_H_

#include <string>
#include <system_error>

#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/session.h"

namespace nfswalk::cli {

// Whether an error of Stat() says that nothing is there. Others leave it open, and what may be a
// directory is not replaced.
inline bool SaysNothingIsThere(std::errc error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
         error == std::errc::too_many_symbolic_link_levels;
}

// Calls `place(source, directory, path)`, which returns an errc, for each path but the last one, and
// reports it: `path` begins at the directory, a Node. not_a_directory, or why it is not there, if
// there are several and the last one is none. Nothing is placed where the server does not say what
// the last one is. A directory is held: whoever may exchange its name has nothing placed elsewhere.
template <class Place>
void PlaceEach(Session& session, const Paths& paths, Place&& place) {
  const std::string& last = paths.back();
  const auto root = session.client().Resolve("/", session.credential());
  if (!root) return session.Fail(last, root.error());
  const auto found = session.client().Resolve(last, session.credential());
  const std::errc error = found ? std::errc{} : found.error();
  if (!found && !SaysNothingIsThere(error)) return session.Fail(last, error);
  const bool into = found && (*found)->attributes().type == FileType::kDirectory;
  if (!into && paths.size() > 2) {
    return session.Fail(last, found ? std::errc::not_a_directory : error);
  }
  for (size_t i = 0; i + 1 < paths.size() && !session.done(); ++i) {
    session.Report(paths[i], into ? place(paths[i], **found, std::string(BaseName(paths[i])))
                                  : place(paths[i], **root, last));
  }
}

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_DESTINATION_H_
