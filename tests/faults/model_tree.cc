#include "tests/faults/model_tree.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace nfswalk::faults {

using protocol::FileType;

namespace {

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

NodeRef ModelTree::Find(const std::string& path) const {
  const auto found = names_.find(path);
  return found != names_.end() ? found->second : nullptr;
}

bool ModelTree::HasDirectoryOf(const std::string& path) const {
  const std::string directory = DirectoryOf(path);
  return directory == own_ || directory == shared_ || IsThere(directory);
}

std::expected<NodeRef, std::errc> ModelTree::Follow(std::string path) const {
  constexpr int kLinksMax = 40;  // path_resolution(7)
  for (int links = 0; links <= kLinksMax; ++links) {
    const NodeRef node = HasDirectoryOf(path) ? Find(path) : nullptr;
    if (node == nullptr) return std::unexpected(std::errc::no_such_file_or_directory);
    if (node->type != FileType::kSymlink) return node;
    path = DirectoryOf(path) + "/" + node->text;
  }
  return std::unexpected(std::errc::too_many_symbolic_link_levels);
}

std::set<std::string> ModelTree::NamesIn(const std::string& directory) const {
  std::set<std::string> names;
  for (const auto& [path, node] : names_) {
    if (DirectoryOf(path) == directory) names.insert(path.substr(directory.size() + 1));
  }
  return names;
}

void ModelTree::Add(const std::string& path, NodeRef node) { names_[path] = std::move(node); }

void ModelTree::Remove(const std::string& path) {
  const auto found = names_.find(path);
  --found->second->links;
  names_.erase(found);
}

void ModelTree::Rename(const std::string& from, const std::string& to) {
  const NodeRef moved = Find(from);
  if (moved == Find(to)) return;  // two links of one file
  if (IsThere(to)) Remove(to);
  names_.erase(from);
  names_[to] = moved;
  if (moved->type != FileType::kDirectory) return;
  std::vector<std::string> below;
  for (const auto& [path, node] : names_) {
    if (path.starts_with(from + "/")) below.push_back(path);
  }
  for (const std::string& path : below) {
    names_[to + path.substr(from.size())] = names_[path];
    names_.erase(path);
  }
}

void ModelTree::Reload(const std::string& backing) {
  names_.clear();
  ReloadDirectory(backing, own_);
  ReloadDirectory(backing, shared_);
}

void ModelTree::ReloadDirectory(const std::string& backing, const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(backing + "/" + directory)) {
    const std::string name = entry.path().filename();
    if (directory == shared_ && !name.starts_with(mark_)) continue;
    struct stat found;
    if (lstat(entry.path().c_str(), &found) != 0) continue;
    auto node = std::make_shared<Node>();
    for (const auto& [path, known] : names_) {
      if (known->fileid == found.st_ino) node = known;  // another link
    }
    node->fileid = found.st_ino;
    node->mode = found.st_mode & 07777;
    node->links = S_ISDIR(found.st_mode) ? 1 : static_cast<uint32_t>(found.st_nlink);
    if (S_ISDIR(found.st_mode)) {
      node->type = FileType::kDirectory;
    } else if (S_ISLNK(found.st_mode)) {
      node->type = FileType::kSymlink;
      node->text = std::filesystem::read_symlink(entry.path());
    } else {
      std::ifstream file(entry.path());
      node->text.assign(std::istreambuf_iterator<char>(file), {});
    }
    const std::string path = directory + "/" + name;
    names_[path] = node;
    if (node->type == FileType::kDirectory) ReloadDirectory(backing, path);
  }
}

}  // namespace nfswalk::faults
