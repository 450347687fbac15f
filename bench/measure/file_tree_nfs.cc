#include <system_error>
#include <vector>

#include "bench/measure/file_tree.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kOwnerOnly = 0700;

bool IsSpecial(const FileNode& node) {
  return node.type != S_IFDIR && node.type != S_IFREG && node.type != S_IFLNK;
}

std::errc ErrorOf(const auto& result) { return result ? kOk : result.error(); }

// Creates with the mode and then sets it: a server may take some bits off at creation.
std::errc MakeNode(Client& client, const std::string& path, const FileNode& node,
                   const Credential& root) {
  SetAttributes attributes{.mode = node.permissions};
  if (node.type == S_IFLNK) return ErrorOf(client.MakeSymlink(node.link_text, path, root));
  if (node.type == S_IFDIR) {
    const std::errc error = ErrorOf(client.MakeDirectory(path, kOwnerOnly, root));
    if (error != kOk) return error;
  } else {
    const std::errc error = ErrorOf(client.Create(path, kOwnerOnly, true, root));
    if (error != kOk) return error;
    attributes.size_bytes = node.size_bytes;
  }
  return ErrorOf(client.SetAttributesOf(path, attributes, root, {.no_follow = true}));
}

std::unexpected<std::string> Failed(std::string_view what, std::string_view path, std::errc error) {
  const std::string hint =
      error == std::errc::permission_denied || error == std::errc::operation_not_permitted
          ? " (the export must let uid 0 be uid 0: no_root_squash)"
          : "";
  return std::unexpected(fmt::format("cannot {} {} through NFS: {}{}", what, path,
                                     std::make_error_code(error).message(), hint));
}

}  // namespace

Outcome MakeThroughNfs(const FileTree& tree, Client& client, const std::string& name) {
  const Credential root(0, 0);
  for (const auto& [canonical, node] : tree) {
    if (IsSpecial(node)) continue;
    if (Interrupted()) return {};
    const std::string path = name + canonical;
    const std::errc error = MakeNode(client, path, node, root);
    if (error != kOk) return Failed("make", path, error);
  }
  return {};
}

Outcome RemoveThroughNfs(Client& client, const std::string& name) {
  const Credential root(0, 0);
  // Lists first and removes second: a listing need not survive changes of what it lists.
  std::vector<std::string> paths, directories;
  const std::errc listed = client.ReadDir(name, root, [&](const DirectoryEntry& entry) {
    paths.push_back(name + "/" + entry.name);
    return true;
  });
  if (listed != kOk) return Failed("list", name, listed);
  for (const std::string& path : paths) {
    const std::errc error = client.Unlink(path, root);
    if (error == std::errc::is_a_directory || error == std::errc::operation_not_permitted) {
      directories.push_back(path);
    } else if (error != kOk) {
      return Failed("remove", path, error);
    }
  }
  for (const std::string& path : directories) {
    if (Outcome removed = RemoveThroughNfs(client, path); !removed) return removed;
  }
  const std::errc removed = client.RemoveDirectory(name, root);
  if (removed != kOk) return Failed("remove", name, removed);
  return {};
}

}  // namespace nfswalk::bench
