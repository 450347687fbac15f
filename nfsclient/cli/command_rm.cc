#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

// Removes each file where it is entered and each directory once it is empty.
class TreeRemover : public TreeVisitor {
 public:
  explicit TreeRemover(Session& session) : session_(session) {}

  void Enter(const TreeEntry& entry) override {
    if (entry.attributes.type == FileType::kDirectory) return;
    Note(entry, session_.client().Unlink(entry.path, session_.credential()));
  }
  void Leave(const TreeEntry& directory) override {
    Note(directory, session_.client().RemoveDirectory(directory.path, session_.credential()));
  }
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  void Note(const TreeEntry& entry, std::errc error) {
    session_.console().Advance(1, "files");
    if (entry.depth == 0) return session_.Report(entry.path, error);
    // Another client may have removed it.
    if (error != std::errc{} && error != std::errc::no_such_file_or_directory) {
      session_.Fail(entry.path, error);
    }
  }

  Session& session_;
};

void RemoveOne(Session& session, const std::string& path, const RmOptions& options) {
  const std::string_view name = BaseName(path);
  if (name == "/" || name == "." || name == "..") {
    return session.Fail(path, std::errc::invalid_argument);
  }
  std::errc error = session.client().Unlink(path, session.credential());
  if (options.force && error == std::errc::no_such_file_or_directory) error = {};
  if (!options.recursive || error != std::errc::is_a_directory) return session.Report(path, error);
  TreeRemover remover(session);
  WalkTree(session.client(), session.credential(), path, options.tree, remover);
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const RmOptions& options) {
  for (const std::string& path : paths) {
    if (session.done()) return;
    RemoveOne(session, path, options);
  }
}

}  // namespace nfswalk::cli
