#include "bench/make_replay/learned_tree.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "bench/make_replay/link_inference.h"

namespace nfswalk::bench {
namespace {

constexpr uint32_t kPermissionBits = 07777;
constexpr uint32_t kDirectoryMode = 0755;
constexpr uint32_t kFileMode = 0644;
constexpr uint32_t kProgramMode = 0755;
constexpr uint32_t kLinkMode = 0777;

// Opening a device or a file of procfs for writing changes nothing that is compared.
bool KeepsItsAttributesWhenWritten(std::string_view canonical) {
  return canonical.starts_with("/dev/") || canonical.starts_with("/proc/");
}

}  // namespace

LearnedTree::LearnedTree(const Trace& trace) {
  LearnLinks(trace, tree_);
  LearnChanges(trace);
  for (const Call& call : trace.calls) {
    const bool learns =
        call.error == 0 || (call.kind == CallKind::kReadLink && call.error == EINVAL);
    if (learns && call.kind != CallKind::kChange) LearnAnswer(call);
  }
  GiveParents();
  FillIn();
}

void LearnedTree::LearnChanges(const Trace& trace) {
  for (const Call& call : trace.calls) {
    if (call.kind != CallKind::kChange || IsPerProcess(call.path)) continue;
    const bool opened = !call.text.empty();
    std::string canonical =
        opened
            ? call.text
            : tree_.Walk(call.path, call.no_follow, AtMissing::kAssumeDirectory, nullptr).canonical;
    if (opened && KeepsItsAttributesWhenWritten(canonical)) continue;
    if (!canonical.empty()) changed_.insert(std::move(canonical));
  }
}

PathTrouble LearnedTree::TroubleOn(std::string_view path, bool no_follow) const {
  PathTrouble trouble;
  trouble.per_process = IsPerProcess(path);
  (void)tree_.Walk(path, no_follow, AtMissing::kAssumeDirectory, [&](const std::string& canonical) {
    trouble.changed |= changed_.contains(canonical);
    trouble.conflicting |= conflicting_.contains(canonical);
  });
  return trouble;
}

void LearnedTree::AddConflict(std::string_view path, bool no_follow) {
  std::string last;
  (void)tree_.Walk(path, no_follow, AtMissing::kAssumeDirectory,
                   [&](const std::string& canonical) { last = canonical; });
  conflicting_.insert(std::move(last));
}

std::vector<std::string> LearnedTree::conflicting_names() const {
  std::vector<std::string> names(conflicting_.begin(), conflicting_.end());
  std::ranges::sort(names);
  return names;
}

void LearnedTree::SetType(const std::string& canonical, TreeNode& node, uint32_t type) {
  if (node.type != 0 && node.type != type) conflicting_.insert(canonical);
  if (node.type == 0) node.type = type;
}

void LearnedTree::LearnAttributes(const std::string& canonical, TreeNode& node,
                                  const RecordedAttributes& attributes) {
  const uint32_t type = attributes.mode & S_IFMT;
  const uint32_t permissions = attributes.mode & kPermissionBits;
  SetType(canonical, node, type);
  bool conflict = node.permissions.value_or(permissions) != permissions;
  node.permissions = permissions;
  if (type == S_IFREG || type == S_IFLNK) {
    const uint64_t size = attributes.size_bytes.value_or(0);
    conflict |= node.size_bytes.value_or(size) != size;
    node.size_bytes = size;
  }
  node.rdev_major = attributes.rdev_major;
  node.rdev_minor = attributes.rdev_minor;
  if (conflict) conflicting_.insert(canonical);
}

void LearnedTree::LearnAnswer(const Call& call) {
  if (TroubleOn(call.path, call.no_follow).per_process) return;
  if (TroubleOn(call.path, call.no_follow).changed) return;
  std::vector<std::string> visited;
  const WalkResult walk =
      tree_.Walk(call.path, call.no_follow, AtMissing::kAssumeDirectory,
                 [&](const std::string& canonical) { visited.push_back(canonical); });
  if (walk.error != 0) return;
  // Everything on the way exists, and is a directory unless it is a link.
  for (const std::string& canonical : visited) {
    TreeNode& node = tree_.Node(canonical);
    if (canonical != walk.canonical && node.type == 0) node.type = S_IFDIR;
  }
  TreeNode& node = tree_.Node(walk.canonical);
  if (call.attributes) LearnAttributes(walk.canonical, node, *call.attributes);
  if (call.must_be_directory || call.path.ends_with('/')) SetType(walk.canonical, node, S_IFDIR);
  if ((call.access_mode & X_OK) != 0) node.executable = true;
}

// A link learnt from a call that is left out can stand where no answer showed a directory.
void LearnedTree::GiveParents() {
  for (const std::string& path : tree_.SortedPaths()) {
    for (std::string_view parent = ParentOf(path); !parent.empty(); parent = ParentOf(parent)) {
      TreeNode& node = tree_.Node(parent);
      if (node.type != 0 && node.type != S_IFDIR) conflicting_.emplace(parent);
      node.type = S_IFDIR;
      node.link_text.reset();
    }
  }
}

void LearnedTree::FillIn() {
  std::vector<std::string> paths = tree_.SortedPaths();
  paths.emplace_back();  // the root
  for (const std::string& path : paths) {
    TreeNode& node = tree_.Node(path);
    if (node.type == 0) node.type = S_IFREG;
    if (node.type == S_IFLNK && !node.link_text) {
      // Seen, never read: any text of the right length answers all that was asked.
      node.link_text = std::string(node.size_bytes.value_or(1), 'x');
    }
    const uint32_t usual = node.type == S_IFDIR   ? kDirectoryMode
                           : node.type == S_IFLNK ? kLinkMode
                           : node.executable      ? kProgramMode
                                                  : kFileMode;
    if (!node.permissions) node.permissions = usual;
    if (!node.size_bytes) node.size_bytes = node.link_text ? node.link_text->size() : 0;
    // An inferred text that lstat contradicts.
    if (node.link_text && node.link_text->size() != *node.size_bytes) conflicting_.insert(path);
  }
}

}  // namespace nfswalk::bench
