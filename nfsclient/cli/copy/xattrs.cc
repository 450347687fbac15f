#include "nfsclient/cli/copy/xattrs.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace nfswalk::cli {
namespace {

constexpr std::errc kNotSupported = std::errc::operation_not_supported;
constexpr std::errc kIsGone = std::errc::no_message_available;  // ENODATA

// Calls `get(into, bytes)`, as getxattr(2), until the place is large enough.
template <typename Get>
Result<std::string> GetAll(Get get) {
  constexpr int kTriesMax = 16;  // of a value that another program makes longer meanwhile
  ssize_t got = -1;
  errno = ERANGE;
  for (int tries = 0; got < 0 && errno == ERANGE && tries < kTriesMax; ++tries) {
    got = get(nullptr, 0);
    if (got <= 0) break;
    std::string all(static_cast<size_t>(got), '\0');
    got = get(all.data(), all.size());
    if (got < 0) continue;
    all.resize(static_cast<size_t>(got));
    return all;
  }
  if (got < 0) return std::unexpected(static_cast<std::errc>(errno));
  return std::string();
}

Result<std::vector<std::string>> OfUsers(Result<std::vector<std::string>> names) {
  if (names) {
    std::erase_if(*names, [](const std::string& name) { return !name.starts_with("user."); });
  }
  return names;
}

}  // namespace

XattrSource XattrsOf(std::shared_ptr<const File> file) {
  return {.names = [file] { return OfUsers(file->ListXattrs()); },
          .value = [file](const std::string& name) { return file->GetXattr(name); }};
}

XattrSource XattrsOf(std::shared_ptr<const Node> node, const Credential& credential) {
  return {.names = [node, &credential] { return OfUsers(node->ListXattrs("", credential)); },
          .value = [node, &credential](
                       const std::string& name) { return node->GetXattr("", name, credential); }};
}

XattrSource XattrsOf(std::shared_ptr<const LocalDescriptor> file) {
  const auto names = [file]() -> Result<std::vector<std::string>> {
    const auto list =
        GetAll([&](char* into, size_t bytes) { return flistxattr(file->get(), into, bytes); });
    if (!list) return std::unexpected(list.error());
    std::vector<std::string> found;
    for (auto at = list->begin(); at != list->end();) {
      const auto end = std::find(at, list->end(), '\0');
      found.emplace_back(at, end);
      at = end == list->end() ? end : end + 1;
    }
    return OfUsers(std::move(found));
  };
  const auto value = [file](const std::string& name) {
    return GetAll([&](char* into, size_t bytes) {
      return fgetxattr(file->get(), name.c_str(), into, bytes);
    });
  };
  return {.names = names, .value = value};
}

XattrSetter SetsXattrsOf(File& file) {
  return [&file](const std::string& name, const std::string& value) {
    return file.SetXattr(name, value, XattrMode::kEither);
  };
}

XattrSetter SetsXattrsOf(Node& node, const Credential& credential) {
  return [&node, &credential](const std::string& name, const std::string& value) {
    return node.SetXattr("", name, value, XattrMode::kEither, credential);
  };
}

XattrSetter SetsXattrsOf(int descriptor) {
  return [descriptor](const std::string& name, const std::string& value) {
    const int result = fsetxattr(descriptor, name.c_str(), value.data(), value.size(), 0);
    return result == 0 ? std::errc{} : static_cast<std::errc>(errno);
  };
}

void CopyXattrs(Session& session, const XattrSource& source, const std::string& from,
                const XattrSetter& set, const std::string& to) {
  std::errc failed{}, refused{};
  const auto note = [](std::errc& first, std::errc error) {
    const bool is_none = error == kNotSupported || error == kIsGone;
    if (first == std::errc{} && !is_none) first = error;
  };
  const auto names = source.names();
  if (!names) note(failed, names.error());
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (session.done()) break;
    const auto value = source.value(name);
    if (!value) note(failed, value.error());
    if (value) note(refused, set(name, *value));
  }
  if (failed != std::errc{}) session.Fail(from, failed);
  if (refused != std::errc{}) session.FailToKeep(from, to, "extended attributes", refused);
}

}  // namespace nfswalk::cli
