#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/process_umask.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

class ModeSetter : public TreeVisitor {
 public:
  ModeSetter(Session& session, const ModeChange& change)
      : session_(session), change_(change), umask_(ProcessUmask()) {}

  // What the path leads to.
  void ChangeOne(const std::string& path) {
    const auto found = session_.client().Stat(path, session_.credential());
    session_.Report(path, found ? Set(path, *found) : found.error());
  }

  // Before what is in it is listed: a mode that forbids that takes effect as with chmod(1).
  // Symbolic links have no mode of their own.
  void Enter(const TreeEntry& entry) override {
    if (entry.depth == 0) return ChangeOne(entry.path);
    if (entry.attributes.type == FileType::kSymlink) return;
    const std::errc error = Set(entry.path, entry.attributes);
    if (error != std::errc{}) session_.Fail(entry.path, error);
  }
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  std::errc Set(const std::string& path, const Attributes& now) {
    const uint32_t mode = change_.Apply(now.mode, now.type == FileType::kDirectory, umask_);
    if (mode == now.mode) return {};
    const auto set = session_.client().SetAttributesOf(path, {.mode = mode}, session_.credential());
    return set ? std::errc{} : set.error();
  }

  Session& session_;
  const ModeChange& change_;
  const uint32_t umask_;
};

}  // namespace

void RunCommand(Session& session, const Paths& paths, const ChmodOptions& options) {
  ModeSetter setter(session, *options.mode);
  for (const std::string& path : paths) {
    if (session.done()) return;
    if (options.recursive) {
      WalkTree(session.client(), session.credential(), path, options.tree, setter);
      continue;
    }
    setter.ChangeOne(path);
  }
}

}  // namespace nfswalk::cli
