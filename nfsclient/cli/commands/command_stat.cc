#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/show/link_target.h"
#include "nfsclient/cli/show/stat_format.h"

namespace nfswalk::cli {
namespace {

void Print(Session& session, const std::string& path, const Result<Attributes>& attributes,
           const StatOptions& options) {
  if (!attributes) return session.Fail(path, attributes.error());
  std::string target;
  if (attributes->type == protocol::FileType::kSymlink) {
    auto read = ReadLinkTarget(session.client(), path, session.credential());
    if (!read) return session.Fail(path, read.error());
    target = *std::move(read);
  }
  if (session.json()) {
    JsonObject object = PathJson(path);
    AddAttributes(object, *attributes);
    if (!target.empty()) AddBytes(object, "target", target);
    return session.Print(object);
  }
  Console& console = session.console();
  const StatSubject subject{path, target, console.out_is_terminal(), *attributes};
  console.Print(options.format ? options.format->Render(subject) + "\n" : StatBlock(subject));
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const StatOptions& options) {
  // Asked for together; few enough for the first to be printed soon.
  constexpr size_t kBatch = 256;
  for (size_t begin = 0; begin < paths.size(); begin += kBatch) {
    const std::span<const std::string> part =
        std::span(paths).subspan(begin, std::min(kBatch, paths.size() - begin));
    const std::vector<std::string_view> names(part.begin(), part.end());
    std::vector<Result<Attributes>> found(part.size());
    session.client().StatEach(names, session.credential(), found, {.no_follow = !options.follow});
    for (size_t i = 0; i < part.size(); ++i) {
      if (session.done()) return;
      Print(session, part[i], found[i], options);
      session.console().Advance(1, "paths");
    }
  }
}

}  // namespace nfswalk::cli
