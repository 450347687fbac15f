#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/process_umask.h"

namespace nfswalk::cli {
namespace {

// The server's time, for both.
const SetAttributes kNow{.atime = protocol::SetTime{}, .mtime = protocol::SetTime{}};
constexpr uint32_t kFileMode = 0666;

std::errc TouchOne(Session& session, const std::string& path, uint32_t mode, bool create) {
  const auto touch = [&] {
    const auto changed = session.client().SetAttributesOf(path, kNow, session.credential());
    return changed ? std::errc{} : changed.error();
  };
  const std::errc error = touch();
  if (error != std::errc::no_such_file_or_directory) return error;
  if (!create) return {};
  // Not exclusively, so that the call itself carries the mode, which a default ACL restricts. What
  // another client has made meanwhile has its times from now, too.
  const auto made = session.client().Create(path, mode, false, session.credential());
  return made ? std::errc{} : made.error();
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const TouchOptions& options) {
  const uint32_t mode = kFileMode & ~ProcessUmask();
  for (const std::string& path : paths) {
    if (session.done()) return;
    session.Report(path, TouchOne(session, path, mode, !options.no_create));
  }
}

}  // namespace nfswalk::cli
