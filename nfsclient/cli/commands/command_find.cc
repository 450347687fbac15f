#include <string>
#include <system_error>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/find_filter.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {
namespace {

class Search : public TreeVisitor {
 public:
  // Borrows all three.
  Search(Session& session, const FindOptions& options, const FindFilter& filter)
      : session_(session), options_(options), filter_(filter) {}

  void Enter(const TreeEntry& entry) override {
    session_.console().Advance(1, "files");
    if (entry.depth < options_.depth_min) return;
    if (filter_.Matches(entry.path, entry.attributes)) Print(entry);
  }
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  void Print(const TreeEntry& entry) {
    if (session_.json()) {
      JsonObject object = PathJson(entry.path);
      AddAttributes(object, entry.attributes);
      return session_.Print(object);
    }
    if (options_.print0) return session_.console().Print(entry.path + '\0');
    session_.console().Print(session_.console().ForOutput(entry.path) + "\n");
  }

  Session& session_;
  const FindOptions& options_;
  const FindFilter& filter_;
};

}  // namespace

void RunCommand(Session& session, const Paths& paths, const FindOptions& options) {
  FindFilter filter = options.filter;
  if (options.newer) {
    const auto reference = session.client().Stat(*options.newer, session.credential(),
                                                 {.no_follow = true, .dont_cache = true});
    if (!reference) return session.Fail(*options.newer, reference.error());
    filter.newer = reference->mtime;
  }
  Search search(session, options, filter);
  for (const std::string& path : paths) {
    if (session.done()) return;
    WalkTree(session.client(), session.credential(), path, options.tree, search);
  }
}

}  // namespace nfswalk::cli
