#include "bench/make_replay/link_inference.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace nfswalk::bench {
namespace {

// Each round can uncover links behind links found in the round before; real trees nest a few.
constexpr int kRoundsMax = 16;

std::vector<std::string_view> Components(std::string_view path) {
  std::vector<std::string_view> components;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) components.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return components;
}

std::string Join(const std::vector<std::string_view>& components, size_t count) {
  std::string path;
  for (size_t i = 0; i < count; ++i) path.append("/").append(components[i]);
  return path;
}

// The relative path from directory `from` to `to`.
std::string RelativePath(const std::vector<std::string_view>& from,
                         const std::vector<std::string_view>& to) {
  size_t common = 0;
  while (common < from.size() && common < to.size() && from[common] == to[common]) ++common;
  std::string text;
  for (size_t i = common; i < from.size(); ++i) text.append(text.empty() ? ".." : "/..");
  for (size_t i = common; i < to.size(); ++i) {
    if (!text.empty()) text.push_back('/');
    text.append(to[i]);
  }
  return text.empty() ? "." : text;
}

std::string Canonical(const Tree& tree, std::string_view path, bool no_follow) {
  return tree.Walk(path, no_follow, AtMissing::kAssumeDirectory, nullptr).canonical;
}

// Names that some answer shows not to be links.
std::unordered_set<std::string> NamesThatAreNoLinks(const Trace& trace, const Tree& tree) {
  std::unordered_set<std::string> names;
  for (const std::string& path : trace.resolved_paths) {
    for (std::string_view name = path; !name.empty(); name = ParentOf(name)) {
      if (!names.emplace(name).second) break;
    }
  }
  for (const Call& call : trace.calls) {
    const bool plain = call.kind == CallKind::kStat && call.no_follow && call.attributes &&
                       (call.attributes->mode & S_IFMT) != S_IFLNK;
    const bool not_link = call.kind == CallKind::kReadLink && call.error == EINVAL;
    if (plain || not_link) names.insert(Canonical(tree, call.path, true));
  }
  return names;
}

bool SetLink(Tree& tree, const std::string& canonical, const std::string& text) {
  TreeNode& node = tree.Node(canonical);
  if (node.link_text == text) return false;
  node.type = S_IFLNK;
  node.link_text = text;
  return true;
}

// One round; true if it found a new link.
bool LearnRound(const Trace& trace, Tree& tree) {
  bool found = false;
  const std::unordered_set<std::string> no_links = NamesThatAreNoLinks(trace, tree);
  for (const Call& call : trace.calls) {
    if (call.error != 0 || call.text.empty() || IsPerProcess(call.path)) continue;
    if (call.kind == CallKind::kReadLink) {
      // A name read twice with two texts stays what it was first: the plan finds the conflict.
      const std::string name = Canonical(tree, call.path, true);
      const TreeNode* known = tree.Find(name);
      if (known == nullptr || !known->link_text) found |= SetLink(tree, name, call.text);
    } else if (call.kind == CallKind::kOpen && !call.no_follow) {
      const std::string opened = Canonical(tree, call.path, false);
      if (opened.empty() || opened == call.text) continue;
      const auto link = InferLink(opened, call.text, no_links);
      if (link && tree.Find(link->path) == nullptr) found |= SetLink(tree, link->path, link->text);
    }
  }
  return found;
}

}  // namespace

std::optional<InferredLink> InferLink(std::string_view opened, std::string_view arrived,
                                      const std::unordered_set<std::string>& no_links) {
  const std::vector<std::string_view> from = Components(opened);
  const std::vector<std::string_view> to = Components(arrived);
  size_t same_end = 0;
  while (same_end < from.size() && same_end < to.size() &&
         from[from.size() - 1 - same_end] == to[to.size() - 1 - same_end]) {
    ++same_end;
  }
  for (size_t kept = std::max<size_t>(from.size() - same_end, 1); kept <= from.size(); ++kept) {
    const size_t after_link = from.size() - kept;
    if (after_link >= to.size()) continue;
    const std::string link = Join(from, kept);
    const std::string target = Join(to, to.size() - after_link);
    // A link into itself would never end.
    if (link == target || no_links.contains(link) || target.starts_with(link + "/")) continue;
    const std::vector<std::string_view> directory(from.begin(),
                                                  from.begin() + static_cast<ptrdiff_t>(kept) - 1);
    return InferredLink{link, RelativePath(directory, Components(target))};
  }
  return std::nullopt;
}

void LearnLinks(const Trace& trace, Tree& tree) {
  for (int round = 0; round < kRoundsMax && LearnRound(trace, tree); ++round) {
  }
}

bool IsPerProcess(std::string_view path) {
  static constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"/proc/self", "/proc/thread-self", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"});
  return std::ranges::any_of(kPrefixes, [path](std::string_view prefix) {
    return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
  });
}

}  // namespace nfswalk::bench
