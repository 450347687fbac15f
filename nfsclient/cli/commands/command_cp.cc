#include <fcntl.h>
#include <sys/resource.h>

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/destination.h"
#include "nfsclient/cli/commands/process_umask.h"
#include "nfsclient/cli/copy/copy_source.h"
#include "nfsclient/cli/copy/export_copy.h"
#include "nfsclient/cli/copy/interrupt_guard.h"
#include "nfsclient/cli/copy/local_copy.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "nfsclient/cli/join_path.h"

namespace nfswalk::cli {
namespace {

// How far the progress line sees ahead, and how much memory that takes.
constexpr size_t kCopiesWaitingMax = 4096;

// A tree needs a descriptor for each level; the limit of many shells is for select(2).
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// "" for the root, "." and "..", which have no name of their own: what is in them goes where the
// destination is.
std::string NameOf(const std::string& path) {
  std::string name(BaseName(path));
  return name == "/" || name == "." || name == ".." ? "" : name;
}

// Has `copy` enter `path`, and waits for what it starts.
void CopyOne(Session& session, CopySource& source, TaskThreads& threads, const std::string& path,
             TreeVisitor& copy, const CpOptions& options) {
  if (options.recursive) {
    source.Walk(path, options.tree, copy);
  } else {
    const auto entry = source.Find(path);
    if (!entry) return session.Fail(path, entry.error());
    if (entry->attributes.type == protocol::FileType::kDirectory) {
      return session.Fail(path, std::errc::is_a_directory);
    }
    copy.Enter(*entry);
  }
  threads.Wait();
}

void CopyHere(Session& session, CopySource& source, TaskThreads& threads,
              std::span<const std::string> paths, const std::string& destination,
              const CpOptions& options) {
  const auto into =
      LocalDescriptor::OpenDirectory(AT_FDCWD, destination, LocalDescriptor::LastLink::kFollow);
  for (const std::string& path : paths) {
    if (session.done()) return;
    if (!into && paths.size() > 1) {
      session.FailLocally(path, destination, std::errc::not_a_directory);
      continue;
    }
    LocalCopy::Place place{-1, "", destination};
    if (into) {
      const std::string name = NameOf(path);
      place = {into->get(), name.empty() ? "." : name,
               name.empty() ? destination : JoinPath(destination, name)};
    }
    const std::string target = place.path;
    LocalCopy copy(session, source, threads, std::move(place), options.preserve);
    CopyOne(session, source, threads, path, copy, options);
    if (const std::errc error = copy.Sync(); error != std::errc{}) {
      session.FailLocally(path, target, error);
    }
  }
  if (!into) return;
  if (const std::errc error = into->Sync(); error != std::errc{}) {
    session.FailLocally(paths.back(), destination, error);
  }
}

// A directory of the export in which a name goes.
struct ExportPlace {
  std::shared_ptr<Node> directory;
  std::string name;
  std::string path;
};

// The place of a path that is no directory.
Result<ExportPlace> NamedPlace(Client& to, const Credential& who, std::string path) {
  const std::string shown = path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string directory = slash == std::string::npos ? "/" : path.substr(0, slash + 1);
  if (NameOf(name).empty()) return std::unexpected(std::errc::no_such_file_or_directory);
  auto node = to.Resolve(directory, who);
  if (!node) return std::unexpected(node.error());
  return ExportPlace{std::move(*node), name, shown};
}

void CopyToExport(Session& session, Client& to, const ExportCopy::Settings& settings,
                  std::span<const std::string> paths, const std::string& destination,
                  const CpOptions& options) {
  const Credential& who = session.credential();
  std::shared_ptr<Node> into;
  const auto found = to.Stat(destination, who);
  if (found && found->type == protocol::FileType::kDirectory) {
    auto node = to.Resolve(destination, who);
    if (node) into = std::move(*node);
  }
  for (const std::string& path : paths) {
    if (session.done()) return;
    Result<ExportPlace> place = std::unexpected(std::errc::not_a_directory);
    if (into) {
      const std::string name = NameOf(path);
      place = ExportPlace{into, name, name.empty() ? destination : JoinPath(destination, name)};
    } else if (!found && !SaysNothingIsThere(found.error())) {
      place = std::unexpected(found.error());
    } else if (paths.size() == 1) {
      place = NamedPlace(to, who, destination);
    }
    if (!place) {
      session.FailLocally(path, destination, place.error());
      continue;
    }
    ExportCopy copy(session, settings, place->directory, place->name, place->path);
    CopyOne(session, settings.source, settings.threads, path, copy, options);
  }
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const CpOptions& options) {
  std::expected<std::unique_ptr<Client>, MountError> to;
  if (options.to && !options.to->same_url) to = Client::Mount(options.to->mount);
  if (!to) return session.FailMount(options.to->url, to.error().message);
  Client& target = *to != nullptr ? **to : session.client();
  // A file that is removed while it is still open is under a hidden name then.
  const InterruptGuard guard([&target] { target.Shutdown(); });
  RaiseDescriptorLimit();
  const std::string& destination = paths.back();
  const std::span sources(paths.begin(), paths.end() - 1);
  // One: this one alone.
  TaskThreads threads(options.tree.threads == 1 ? 0 : options.tree.threads, kCopiesWaitingMax);
  const auto source = options.from_here ? LocalSource(threads)
                                        : ExportSource(session.client(), session.credential());
  if (!options.from_here && !options.to) {
    return CopyHere(session, *source, threads, sources, destination, options);
  }
  ExportCopy::Settings settings{
      .source = *source, .threads = threads, .preserve = options.preserve, .umask = ProcessUmask()};
  if (options.to) settings.same_server = options.to->same_server;
  CopyToExport(session, target, settings, sources, destination, options);
  threads.Wait();
}

}  // namespace nfswalk::cli
