#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/process_umask.h"
#include "nfsclient/cli/join_path.h"

namespace nfswalk::cli {
namespace {

constexpr uint32_t kDirectoryMode = 0777;

std::errc MakeOne(Session& session, const std::string& path, uint32_t mode) {
  const auto made = session.client().MakeDirectory(path, mode, session.credential());
  return made ? std::errc{} : made.error();
}

// The directory `name` of `parent`, made if it is not there.
Result<std::unique_ptr<Node>> MakeOrEnter(const Node& parent, std::string_view name, uint32_t mode,
                                          const Credential& who) {
  auto made = parent.MakeDirectory(name, mode, who);
  if (made && made->node != nullptr) return std::move(made->node);
  // It may exist where it may not be made.
  auto found = parent.Resolve(name, who);
  const bool is_missing = !found && found.error() == std::errc::no_such_file_or_directory;
  if (is_missing && !made) return std::unexpected(made.error());
  return found;
}

// mkdir -p: those above it, and no error for a directory that exists. Each is entered by one name
// from the one above it, as mkdir(1) does by chdir(2): its link is the last component of a path.
std::errc MakeWithParents(Session& session, const std::string& path, uint32_t mode,
                          uint32_t umask) {
  const Credential& who = session.credential();
  auto at = session.client().Resolve("/", who);
  if (!at) return at.error();
  const std::string_view last = BaseName(path);
  std::string_view above(path.data(), static_cast<size_t>(last.data() - path.data()));
  for (const auto part : std::views::split(above, '/')) {
    const std::string_view name(part.begin(), part.end());
    if (name.empty()) continue;
    // The owner can make what is below (mkdir(1), -p).
    at = MakeOrEnter(**at, name, (kDirectoryMode & ~umask) | 0300, who);
    if (!at) return at.error();
  }
  const auto made = (*at)->MakeDirectory(last, mode, who);
  if (made || made.error() != std::errc::file_exists) return made ? std::errc{} : made.error();
  const auto found = (*at)->Stat(last, who);
  const bool is_directory = found && found->type == FileType::kDirectory;
  return is_directory ? std::errc{} : made.error();
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
