#include <sys/stat.h>

#include <span>
#include <string>
#include <utility>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/local_copy.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/cli/unfinished_file.h"

namespace nfswalk::cli {
namespace {

bool IsLocalDirectory(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// The root, "." and ".." have no name of their own: what is in them goes where `destination` is.
std::string TargetIn(const std::string& destination, const std::string& path) {
  const std::string name(BaseName(path));
  return name == "/" || name == "." || name == ".." ? destination : JoinPath(destination, name);
}

void CopyOne(Session& session, const std::string& path, std::string target,
             const CpOptions& options) {
  LocalCopy copy(session, std::move(target), options.preserve);
  if (options.recursive) {
    return WalkTree(session.client(), session.credential(), path, options.tree, copy);
  }
  const auto attributes = session.client().Stat(path, session.credential());
  if (!attributes) return session.Fail(path, attributes.error());
  if (attributes->type == protocol::FileType::kDirectory) {
    return session.Fail(path, std::errc::is_a_directory);
  }
  copy.Enter({path, 0, *attributes});
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const CpOptions& options) {
  const InterruptGuard guard;
  const std::string& destination = paths.back();
  const std::span sources(paths.begin(), paths.end() - 1);
  const bool into = IsLocalDirectory(destination);
  for (const std::string& path : sources) {
    if (session.done()) return;
    if (!into && sources.size() > 1) {
      session.FailLocally(path, destination, std::errc::not_a_directory);
      continue;
    }
    CopyOne(session, path, into ? TargetIn(destination, path) : destination, options);
  }
}

}  // namespace nfswalk::cli
