#include <fcntl.h>
#include <sys/resource.h>

#include <span>
#include <string>
#include <utility>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/local_copy.h"
#include "nfsclient/cli/local_descriptor.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/cli/unfinished_file.h"

namespace nfswalk::cli {
namespace {

// A tree needs a descriptor for each level; the limit of many shells is for select(2).
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// The root, "." and ".." have no name of their own: what is in them goes where `destination` is.
LocalCopy::Place PlaceIn(const LocalDescriptor& directory, const std::string& destination,
                         const std::string& path) {
  const std::string name(BaseName(path));
  if (name == "/" || name == "." || name == "..") return {directory.get(), ".", destination};
  return {directory.get(), name, JoinPath(destination, name)};
}

void CopyOne(Session& session, const std::string& path, LocalCopy::Place place,
             const CpOptions& options) {
  const std::string target = place.path;
  LocalCopy copy(session, std::move(place), options.preserve);
  if (options.recursive) {
    WalkTree(session.client(), session.credential(), path, options.tree, copy);
  } else {
    const auto attributes = session.client().Stat(path, session.credential());
    if (!attributes) return session.Fail(path, attributes.error());
    if (attributes->type == protocol::FileType::kDirectory) {
      return session.Fail(path, std::errc::is_a_directory);
    }
    copy.Enter({path, 0, *attributes});
  }
  if (const std::errc error = copy.Sync(); error != std::errc{}) {
    session.FailLocally(path, target, error);
  }
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const CpOptions& options) {
  const InterruptGuard guard;
  RaiseDescriptorLimit();
  const std::string& destination = paths.back();
  const std::span sources(paths.begin(), paths.end() - 1);
  const auto into =
      LocalDescriptor::OpenDirectory(AT_FDCWD, destination, LocalDescriptor::LastLink::kFollow);
  for (const std::string& path : sources) {
    if (session.done()) return;
    if (into) {
      CopyOne(session, path, PlaceIn(*into, destination, path), options);
    } else if (sources.size() == 1) {
      CopyOne(session, path, {-1, "", destination}, options);
    } else {
      session.FailLocally(path, destination, std::errc::not_a_directory);
    }
  }
  if (!into) return;
  if (const std::errc error = into->Sync(); error != std::errc{}) {
    session.FailLocally(sources.back(), destination, error);
  }
}

}  // namespace nfswalk::cli
