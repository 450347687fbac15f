#include <memory>
#include <string>
#include <string_view>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

// Removes each file where it is entered and each directory once it is empty.
class TreeRemover : public TreeVisitor {
 public:
  // Borrows `session` and `start`, the path of depth 0. `force`: that it is gone is no error.
  TreeRemover(Session& session, const std::string& start, bool force)
      : session_(session), start_(start), force_(force) {}

  void Enter(const TreeEntry& entry) override {
    if (entry.attributes.type == FileType::kDirectory) return;
    Note(entry, entry.directory->Unlink(entry.name, session_.credential()));
  }
  void Leave(const TreeEntry& directory) override {
    if (directory.path == replaced_) return;
    Note(directory, directory.directory->RemoveDirectory(directory.name, session_.credential()));
  }
  void Fail(const std::string& path, std::errc error) override {
    if (error == protocol::kStale) replaced_ = path;
    if (!IsGone(error, path == start_)) session_.Fail(path, error);
  }
  bool done() const override { return session_.done(); }

 private:
  void Note(const TreeEntry& entry, std::errc error) {
    session_.console().Advance(1, "files");
    // The directory that is held is gone, and so is all that was in it.
    if (error == protocol::kStale) error = std::errc::no_such_file_or_directory;
    // Another kind of file has its name by now.
    if (error == std::errc::is_a_directory || error == std::errc::not_a_directory) {
      error = protocol::kStale;
    }
    if (IsGone(error, entry.depth == 0)) error = {};
    if (entry.depth == 0) return session_.Report(entry.path, error);
    if (error != std::errc{}) session_.Fail(entry.path, error);
  }
  // Whether another client has removed what this would have.
  bool IsGone(std::errc error, bool is_start) const {
    return error == std::errc::no_such_file_or_directory && (force_ || !is_start);
  }

  Session& session_;
  const std::string& start_;
  const bool force_;
  std::string replaced_;  // the latest directory whose name is another file's by now
};

// Returns is_a_directory, or why `name` with a slash behind it is no name that rm removes: a link to
// a directory is none either.
std::errc CheckDirectory(Session& session, const Node& directory, const std::string& name) {
  const auto found = directory.Lookup(name, session.credential());
  if (!found) return found.error();
  if (found->node == nullptr) return std::errc::no_such_file_or_directory;
  return found->attributes.type == FileType::kDirectory ? std::errc::is_a_directory
                                                        : std::errc::not_a_directory;
}

void RemoveOne(Session& session, const std::string& path, const RmOptions& options) {
  const std::string_view name = BaseName(path);
  if (name == "/" || name == "." || name == "..") {
    return session.Fail(path, std::errc::invalid_argument);
  }
  // The directory of the name is held from here on: it may be exchanged, too.
  const size_t name_begin = static_cast<size_t>(name.data() - path.data());
  const bool has_slash = name_begin + name.size() < path.size();
  // Without the slash, which would have the walk follow a link that takes the name.
  TreeEntry start{.path = path, .name = std::string(name)};
  auto directory = session.client().Resolve(
      name_begin == 0 ? "." : path.substr(0, name_begin), session.credential());
  std::errc error = directory ? std::errc{} : directory.error();
  if (directory) {
    start.directory = std::move(*directory);
    error = has_slash ? CheckDirectory(session, *start.directory, start.name)
                      : start.directory->Unlink(start.name, session.credential());
  }
  if (options.force && error == std::errc::no_such_file_or_directory) error = {};
  if (!options.recursive || error != std::errc::is_a_directory) return session.Report(path, error);
  TreeRemover remover(session, path, options.force);
  WalkTree(start, session.credential(), options.tree, remover);
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const RmOptions& options) {
  for (const std::string& path : paths) {
    if (session.done()) return;
    RemoveOne(session, path, options);
  }
}

}  // namespace nfswalk::cli
