#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/local_copy.h"
#include "nfsclient/cli/tree_command.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/cli/unfinished_file.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Copies from the export to a local path, the last of the PATHs: into it if it is a directory,\n"
    "else to it. A file is written under another name and renamed, so that a copy is whole or not\n"
    "there; a file in its place is replaced, a directory or a device is not. Links are followed, "
    "but\n"
    "with -r copied as links. Owners are not kept, nor set-user-ID and set-group-ID bits.\n"
    "\n"
    "Examples:\n"
    "  nfswalk cp nfs://server/export etc/hostname /tmp\n"
    "  nfswalk cp -rp nfs://server/export home/me/project ./project\n"
    "  nfswalk cp -r nfs://server/export . /srv/mirror\n";

struct CpOptions {
  TreeOptions tree;
  bool recursive = false;
  bool preserve = false;
};

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

void Copy(Session& session, std::vector<std::string> paths, const CpOptions& options) {
  const InterruptGuard guard;
  const std::string destination = std::move(paths.back());
  paths.pop_back();
  const bool into = IsLocalDirectory(destination);
  for (const std::string& path : paths) {
    if (session.done()) return;
    if (!into && paths.size() > 1) {
      session.FailLocally(path, destination, std::errc::not_a_directory);
      continue;
    }
    CopyOne(session, path, into ? TargetIn(destination, path) : destination, options);
  }
}

}  // namespace

void AddCpCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("cp", "copy files and trees to this machine");
  DeclareCommonOptions(*command, invocation.common, Paths::kTwoOrMore, kExamples);
  auto options = std::make_shared<CpOptions>();
  command->add_flag("-r,-R,--recursive", options->recursive,
                    "directories with all that is in them");
  command->add_flag("-p,--preserve", options->preserve, "keep modes and times");
  DeclareThreads(*command, options->tree);
  command->callback([&invocation, options] {
    LimitCaches(invocation.common.mount);
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      Copy(session, paths, *options);
    };
  });
}

}  // namespace nfswalk::cli
