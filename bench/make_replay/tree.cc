#include "bench/make_replay/tree.h"

#include <algorithm>
#include <cerrno>
#include <climits>

namespace nfswalk::bench {
namespace {

constexpr int kLinksMax = 40;  // path_resolution(7)
constexpr size_t kNameBytesMax = 255;

// Takes the next component off `rest`; empty at the end.
std::string TakeComponent(std::string& rest) {
  const size_t begin = rest.find_first_not_of('/');
  if (begin == std::string::npos) {
    rest.clear();
    return {};
  }
  const size_t end = std::min(rest.find('/', begin), rest.size());
  std::string component = rest.substr(begin, end - begin);
  rest.erase(0, end);
  return component;
}

}  // namespace

Tree::Tree() { nodes_.emplace("", TreeNode{.type = S_IFDIR}); }

WalkResult Tree::Walk(std::string_view path, bool no_follow, AtMissing at_missing,
                      const Visit& visit) const {
  if (path.empty()) return {ENOENT, {}};
  if (path.size() >= PATH_MAX) return {ENAMETOOLONG, {}};
  std::string rest(path);
  std::string at;
  int links = 0;
  for (;;) {
    const std::string name = TakeComponent(rest);
    const TreeNode* here = Find(at);
    const bool directory = here == nullptr || here->type == S_IFDIR ||
                           (here->type == 0 && at_missing == AtMissing::kAssumeDirectory);
    if (name.empty()) {
      const bool must_be_directory = path.ends_with('/');
      return must_be_directory && !directory ? WalkResult{ENOTDIR, {}} : WalkResult{0, at};
    }
    if (!directory) return {ENOTDIR, {}};
    if (name == ".") continue;
    if (name == "..") {
      at = ParentOf(at);
      continue;
    }
    if (name.size() > kNameBytesMax) return {ENAMETOOLONG, {}};
    const size_t parent_bytes = at.size();
    at.append("/").append(name);
    if (visit) visit(at);
    const TreeNode* child = Find(at);
    if (child == nullptr && at_missing == AtMissing::kFail) return {ENOENT, {}};
    const bool link = child != nullptr && child->type == S_IFLNK && child->link_text;
    if (!link || (no_follow && rest.empty())) continue;
    if (++links > kLinksMax) return {ELOOP, {}};
    at.resize(child->link_text->starts_with('/') ? 0 : parent_bytes);
    rest.insert(0, *child->link_text);
  }
}

const TreeNode* Tree::Find(std::string_view canonical) const {
  const auto found = nodes_.find(canonical);
  return found == nodes_.end() ? nullptr : &found->second;
}

TreeNode& Tree::Node(std::string_view canonical) {
  const auto found = nodes_.find(canonical);
  if (found != nodes_.end()) return found->second;
  return nodes_.emplace(canonical, TreeNode{}).first->second;
}

std::vector<std::string> Tree::SortedPaths() const {
  std::vector<std::string> paths;
  paths.reserve(nodes_.size());
  for (const auto& [path, node] : nodes_) {
    if (!path.empty()) paths.push_back(path);
  }
  // A parent is a proper prefix of its children.
  std::ranges::sort(paths);
  return paths;
}

std::string_view ParentOf(std::string_view canonical) {
  const size_t slash = canonical.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : canonical.substr(0, slash);
}

std::string_view NameOf(std::string_view canonical) {
  return canonical.substr(canonical.rfind('/') + 1);
}

}  // namespace nfswalk::bench
