#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/show/acl_text.h"
#include "nfsclient/cli/show/link_target.h"
#include "nfsclient/cli/show/stat_format.h"

namespace nfswalk::cli {
namespace {

using Xattrs = std::vector<std::pair<std::string, std::string>>;

// Reads those of users; none where the file system has none.
Result<Xattrs> ReadXattrs(const Node& node, const std::string& path, const Credential& credential,
                          ResolveFlags flags) {
  Xattrs all;
  const auto names = node.ListXattrs(path, credential, flags);
  if (!names && names.error() == std::errc::operation_not_supported) return all;
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (!name.starts_with("user.")) continue;
    auto value = node.GetXattr(path, name, credential, flags);
    const bool is_removed = !value && value.error() == std::errc::no_message_available;
    if (is_removed) continue;
    if (!value) return std::unexpected(value.error());
    all.emplace_back(name, *std::move(value));
  }
  return all;
}

std::vector<JsonObject> XattrsJson(const Xattrs& xattrs) {
  std::vector<JsonObject> objects;
  for (const auto& [name, value] : xattrs) {
    JsonObject& object = objects.emplace_back();
    AddBytes(object, "name", name);
    AddBytes(object, "value", value);
  }
  return objects;
}

void Print(Session& session, const std::string& path, const Result<Attributes>& attributes,
           const StatOptions& options) {
  if (!attributes) return session.Fail(path, attributes.error());
  std::string target;
  if (attributes->type == protocol::FileType::kSymlink) {
    auto read = ReadLinkTarget(session.client(), path, session.credential());
    if (!read) return session.Fail(path, read.error());
    target = *std::move(read);
  }
  const ResolveFlags flags{.no_follow = !options.follow};
  Result<std::optional<AclText>> acl = std::nullopt;
  if (options.acl) acl = ReadAclText(session.client(), path, session.credential(), flags);
  if (!acl) session.Fail(path, acl.error());
  Result<Xattrs> xattrs;
  if (options.xattrs) xattrs = ReadXattrs(session.client(), path, session.credential(), flags);
  if (!xattrs) session.Fail(path, xattrs.error());
  if (session.json()) {
    JsonObject object = PathJson(path);
    AddAttributes(object, *attributes);
    if (!target.empty()) AddBytes(object, "target", target);
    if (acl && *acl) object.Set("acl", (*acl)->entries);
    if (xattrs && options.xattrs) object.Set("xattrs", XattrsJson(*xattrs));
    return session.Print(object);
  }
  Console& console = session.console();
  StatSubject subject{path, target, console.out_is_terminal(), *attributes};
  if (acl && *acl) subject.acl = std::move((*acl)->entries);
  if (xattrs) subject.xattrs = *std::move(xattrs);
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
