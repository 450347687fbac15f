#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/process_umask.h"

namespace nfswalk::cli {
namespace {

constexpr uint32_t kDirectoryMode = 0777;

std::errc MakeOne(Session& session, const std::string& path, uint32_t mode) {
  const auto made = session.client().MakeDirectory(path, mode, session.credential());
  return made ? std::errc{} : made.error();
}

// mkdir -p: those above it, and no error for a directory that exists.
std::errc MakeWithParents(Session& session, std::string path, uint32_t mode, uint32_t umask) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    // The owner can make what is below (mkdir(1), -p).
    const std::errc error =
        MakeOne(session, path.substr(0, slash), (kDirectoryMode & ~umask) | 0300);
    // It may exist where it may not be made: the next mkdir, below it, reports the error.
    if (error == std::errc::no_such_file_or_directory) return error;
  }
  const std::errc error = MakeOne(session, path, mode);
  if (error != std::errc::file_exists) return error;
  const auto found = session.client().Stat(path, session.credential());
  const bool is_directory = found && found->type == FileType::kDirectory;
  return is_directory ? std::errc{} : error;
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const MkdirOptions& options) {
  const uint32_t umask = ProcessUmask();
  const uint32_t mode =
      options.mode ? options.mode->Apply(kDirectoryMode, true, umask) : kDirectoryMode & ~umask;
  for (const std::string& path : paths) {
    if (session.done()) return;
    session.Report(path, options.parents ? MakeWithParents(session, path, mode, umask)
                                         : MakeOne(session, path, mode));
  }
}

}  // namespace nfswalk::cli
