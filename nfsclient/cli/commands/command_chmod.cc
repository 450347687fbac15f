#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/process_umask.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

class ModeSetter : public TreeVisitor {
 public:
  ModeSetter(Session& session, const ModeChange& change)
      : session_(session), change_(change), umask_(ProcessUmask()) {}

  // Changes the file that the path leads to.
  void ChangeOne(const std::string& path) {
    const auto node = session_.client().Resolve(path, session_.credential());
    if (!node) return session_.Fail(path, node.error());
    session_.Report(path, Set(**node));
  }

  // Before what is in it is listed: a mode that forbids that takes effect as with chmod(1).
  // Symbolic links have no mode of their own.
  void Enter(const TreeEntry& entry) override {
    if (entry.attributes.type == FileType::kSymlink) {
      if (entry.depth == 0) ChangeOne(entry.path);
      return;
    }
    const auto node = ResolveListed(entry, session_.credential());
    const std::errc error = node ? Set(**node) : node.error();
    if (entry.depth == 0) return session_.Report(entry.path, error);
    if (error != std::errc{}) session_.Fail(entry.path, error);
    if (error == protocol::kStale) replaced_ = entry.path;
  }
  void Fail(const std::string& path, std::errc error) override {
    if (error != protocol::kStale || path != replaced_) session_.Fail(path, error);
  }
  bool done() const override { return session_.done(); }

 private:
  // Changes the mode of the node itself, whatever has its name by now. As chmod(1), which asks
  // stat(2): the mode is no older than attributes may be, however long the walk takes.
  std::errc Set(const Node& node) {
    const auto now = node.Stat("", session_.credential());
    if (!now) return now.error();
    const uint32_t mode = change_.Apply(now->mode, now->type == FileType::kDirectory, umask_);
    if (mode == now->mode) return {};
    const auto set = node.SetAttributesOf("", {.mode = mode}, session_.credential());
    return set ? std::errc{} : set.error();
  }

  Session& session_;
  const ModeChange& change_;
  const uint32_t umask_;
  std::string replaced_;  // the latest file whose name is another one's by now: has been reported
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
