#include "bench/make_replay/prepare_nfs.h"

#include <cstring>
#include <system_error>
#include <vector>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOwnerOnly = 0700;

std::errc ErrorOf(const Result<Attributes>& result) {
  return result ? std::errc{} : result.error();
}

// Creates with the mode and then sets it: a server may take some bits off at creation.
std::errc MakeNode(Client& client, const std::string& path, const TreeNode& node,
                   const Credential& root) {
  SetAttributes attributes{.mode = *node.permissions};
  if (node.type == S_IFLNK) return ErrorOf(client.MakeSymlink(*node.link_text, path, root));
  if (node.type == S_IFDIR) {
    const std::errc error = ErrorOf(client.MakeDirectory(path, kOwnerOnly, root));
    if (error != std::errc{}) return error;
  } else {
    const std::errc error = ErrorOf(client.Create(path, kOwnerOnly, true, root));
    if (error != std::errc{}) return error;
    attributes.size_bytes = *node.size_bytes;
  }
  return ErrorOf(client.SetAttributesOf(path, attributes, root, {.no_follow = true}));
}

std::string Failed(std::string_view what, std::string_view path, std::errc error) {
  const std::string hint =
      error == std::errc::permission_denied || error == std::errc::operation_not_permitted
          ? " (the export must let uid 0 be uid 0: no_root_squash)"
          : "";
  return fmt::format("cannot {} {} through NFS: {}{}", what, path,
                     std::make_error_code(error).message(), hint);
}

}  // namespace

std::string PrepareThroughNfs(const Tree& tree, Client& client, const std::string& name) {
  const Credential root(0, 0);
  const std::errc made = MakeNode(client, name, *tree.Find(""), root);
  if (made != std::errc{}) return Failed("make", name, made);
  for (const std::string& canonical : tree.SortedPaths()) {
    const TreeNode& node = *tree.Find(canonical);
    if (IsSpecial(node.type)) continue;
    const std::string path = name + canonical;
    const std::errc error = MakeNode(client, path, node, root);
    if (error != std::errc{}) return Failed("make", path, error);
  }
  return {};
}

std::string RemoveThroughNfs(Client& client, const std::string& name) {
  const Credential root(0, 0);
  std::vector<std::string> inner;
  // Names first, removal second: a listing need not survive changes of what it lists.
  std::vector<std::string> names;
  const std::errc listed = client.ReadDir(name, root, [&](const DirectoryEntry& entry) {
    names.push_back(name + "/" + entry.name);
    return true;
  });
  if (listed != std::errc{}) return Failed("list", name, listed);
  for (const std::string& path : names) {
    const std::errc error = client.Unlink(path, root);
    if (error == std::errc::is_a_directory || error == std::errc::operation_not_permitted) {
      inner.push_back(path);
    } else if (error != std::errc{}) {
      return Failed("remove", path, error);
    }
  }
  for (const std::string& path : inner) {
    if (std::string error = RemoveThroughNfs(client, path); !error.empty()) return error;
  }
  const std::errc removed = client.RemoveDirectory(name, root);
  return removed == std::errc{} ? "" : Failed("remove", name, removed);
}

}  // namespace nfswalk::bench
