#include "nfsclient/cli/copy/xattrs.h"

#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

namespace nfswalk::cli {
namespace {

constexpr std::errc kNotSupported = std::errc::operation_not_supported;
constexpr std::errc kIsGone = std::errc::no_message_available;  // ENODATA

// Calls `get(into, bytes)`, as getxattr(2), until the place is large enough.
template <typename Get>
Result<std::string> GetAll(Get get) {
  for (;;) {
    const ssize_t needed = get(nullptr, 0);
    if (needed < 0) return std::unexpected(static_cast<std::errc>(errno));
    std::string all(static_cast<size_t>(needed), '\0');
    const ssize_t got = needed == 0 ? 0 : get(all.data(), all.size());
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return std::unexpected(static_cast<std::errc>(errno));
    all.resize(static_cast<size_t>(got));
    return all;
  }
}

// The values of these names, by `get(name)`.
template <typename Get>
Result<Xattrs> ValuesOf(const std::vector<std::string>& names, Get get) {
  Xattrs xattrs;
  for (const std::string& name : names) {
    auto value = get(name);
    if (!value && value.error() == kIsGone) continue;
    if (!value) return std::unexpected(value.error());
    xattrs.emplace_back(name, std::move(*value));
  }
  return xattrs;
}

// Sets each by `set(name, value)`.
template <typename Set>
std::errc SetAll(const Xattrs& xattrs, Set set) {
  for (const auto& [name, value] : xattrs) {
    const std::errc error = set(name, value);
    if (error == kNotSupported) return {};
    if (error != std::errc{}) return error;
  }
  return {};
}

}  // namespace

Result<Xattrs> XattrsOf(const File& file) {
  const auto names = file.ListXattrs();
  if (!names && names.error() == kNotSupported) return Xattrs();
  if (!names) return std::unexpected(names.error());
  return ValuesOf(*names, [&](const std::string& name) { return file.GetXattr(name); });
}

Result<Xattrs> XattrsOf(int descriptor) {
  const auto list = GetAll(
      [descriptor](char* into, size_t bytes) { return flistxattr(descriptor, into, bytes); });
  if (!list && list.error() == kNotSupported) return Xattrs();
  if (!list) return std::unexpected(list.error());
  std::vector<std::string> names;
  for (auto at = list->begin(); at != list->end();) {
    const auto end = std::find(at, list->end(), '\0');
    if (std::string name(at, end); name.starts_with("user.")) names.push_back(std::move(name));
    at = end == list->end() ? end : end + 1;
  }
  return ValuesOf(names, [descriptor](const std::string& name) {
    return GetAll(
        [&](char* into, size_t bytes) { return fgetxattr(descriptor, name.c_str(), into, bytes); });
  });
}

std::errc SetXattrs(const Xattrs& xattrs, File& file) {
  return SetAll(xattrs, [&](const std::string& name, const std::string& value) {
    return file.SetXattr(name, value, XattrMode::kEither);
  });
}

std::errc SetXattrs(const Xattrs& xattrs, int descriptor) {
  return SetAll(xattrs, [descriptor](const std::string& name, const std::string& value) {
    const int result = fsetxattr(descriptor, name.c_str(), value.data(), value.size(), 0);
    return result == 0 ? std::errc{} : static_cast<std::errc>(errno);
  });
}

}  // namespace nfswalk::cli
