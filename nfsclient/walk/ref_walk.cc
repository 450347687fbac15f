#include "nfsclient/walk/ref_walk.h"

#include <utility>

#include "nfsclient/nfs/list_ahead.h"
#include "nfsclient/nfs/lookup.h"
#include "nfsclient/nfs/path_lookup.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readlink.h"
#include "rcu/read_guard.h"

// Read beside rcu_walk.cc: the same steps in the same order.

namespace nfswalk::walk {

using icache::Inode;
using vfs::DentryRef;
using vfs::Name;

namespace {

// How often renames may get in the way.
constexpr int kScopeTries = 16;

bool IsDots(const Name& name) {
  return name.data[0] == '.' && name.length <= 2 && (name.length == 1 || name.data[1] == '.');
}

std::string_view WithoutLast(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}
}  // namespace

RefWalk::RefWalk(Superblock& superblock, const WalkStart& start, PathBuffer& path,
                 const sunrpc_auth::CredentialRef& credential, WalkFlags flags, bool force)
    : superblock_(superblock),
      start_(start),
      path_(path),
      credential_(credential),
      flags_(flags),
      force_(force),
      asks_for_whole_paths_(!force && nfs::AsksForWholePaths(superblock)) {}

void RefWalk::Start() { at_ = start_.at.Copy(); }

void RefWalk::Resume(DentryRef position, int links) {
  at_ = std::move(position);
  links_ = links;
}

std::errc RefWalk::Resolve() {
  bool more = true;
  while (more) {
    path_.SkipSlashes();
    if (path_.AtEnd()) break;
    // What the walk brings in by name leaves with it, what is primed would not.
    std::string_view primed = flags_.dont_cache ? WithoutLast(path_.rest()) : path_.rest();
    if (std::errc error = Prime(primed); error != std::errc{}) return error;
    if (std::errc error = Enter(); error != std::errc{}) return error;

    Name name = vfs::ScanName(path_.at(), at_.get());
    if (IsDots(name)) {
      if (name.length == 2) {
        if (std::errc error = StepToParent(); error != std::errc{}) return error;
      }
      path_.AdvanceTo(name.data + name.length);
      continue;
    }
    if (std::errc error = StepToChild(name, &more); error != std::errc{}) return error;
  }
  // Directories stay: whoever scans comes through them again.
  if (flags_.dont_cache && !inode().is_directory()) {
    superblock_.dentries.MarkDontCache(*at_);
  }
  return {};
}

std::errc RefWalk::ResolveParent() {
  bool more = true;
  while (more) {
    path_.SkipSlashes();
    if (path_.AtEnd()) {
      last_kind_ = LastKind::kRoot;
      return {};
    }
    if (std::errc error = Prime(WithoutLast(path_.rest())); error != std::errc{}) return error;
    if (std::errc error = Enter(); error != std::errc{}) return error;
    Name name = vfs::ScanName(path_.at(), at_.get());
    if (IsLast(name)) {
      last_ = name.view();
      last_kind_ = !IsDots(name)      ? LastKind::kName
                   : name.length == 1 ? LastKind::kDot
                                      : LastKind::kDotDot;
      return {};
    }
    if (IsDots(name)) {
      if (name.length == 2) {
        if (std::errc error = StepToParent(); error != std::errc{}) return error;
      }
      path_.AdvanceTo(name.data + name.length);
      continue;
    }
    if (std::errc error = StepToChild(name, &more); error != std::errc{}) return error;
  }
  return {};
}

// What the walk is about to ask for, asked for at once.
std::errc RefWalk::Prime(std::string_view path) {
  const size_t left = path_.rest().size();
  if (!asks_for_whole_paths_ || left > unprimed_) return {};
  const auto primed = nfs::PrimePath(superblock_, at_, path, credential_);
  if (!primed) return primed.error();
  if (*primed != 0) unprimed_ = left - *primed;
  return {};
}

bool RefWalk::IsLast(const Name& name) {
  const char* rest = name.data + name.length;
  trailing_slash_ = *rest == '/';
  while (*rest == '/') ++rest;
  return *rest == 0;
}

std::errc RefWalk::Enter() {
  return nfs::PermissionRef(superblock_, *at_.inode(), credential_, access_cache::kMayExec);
}

std::errc RefWalk::StepToParent() {
  if (at_.get() == start_.root.get()) {
    return flags_.beneath ? std::errc::cross_device_link : std::errc{};
  }
  at_ = superblock_.dentries.Parent(*at_);
  return start_.scoped(superblock_) ? StaysInScope() : std::errc{};
}

// What was below the walk's own root may have been moved out of it, so that `..` leads past it.
std::errc RefWalk::StaysInScope() const {
  for (int tries = 0; tries < kScopeTries; ++tries) {
    rcu::ReadGuard guard;
    const vfs::Below below = superblock_.dentries.IsBelow(*start_.root, *at_);
    if (below == vfs::Below::kYes) return {};
    if (below == vfs::Below::kNo) break;
  }
  return std::errc::resource_unavailable_try_again;
}

std::errc RefWalk::StepToChild(const Name& name, bool* more) {
  auto child = nfs::LookupChild(superblock_, at_, name, credential_->key(), IntentOf(name));
  if (!child) return child.error();
  Inode* inode = child->inode();
  if (inode == nullptr) return std::errc::no_such_file_or_directory;

  if (!flags_.dont_cache) nfs::ListAhead(superblock_, at_, credential_->key());

  const char* rest = name.data + name.length;
  *more = *rest == '/';
  auto type = inode->type.load(std::memory_order_relaxed);
  if (type == protocol::FileType::kSymlink && (*more || flags_.follow_last)) {
    *more = true;
    return FollowLink(*inode, rest);
  }
  if (!*more) {
    parent_ = std::move(at_);
    last_ = name.view();
  }
  at_ = std::move(*child);
  if (*more && type != protocol::FileType::kDirectory) return std::errc::not_a_directory;
  path_.AdvanceTo(rest);
  return {};
}

nfs::LookupIntent RefWalk::IntentOf(const Name& name) const {
  if (force_) return nfs::LookupIntent::kForce;
  const bool opens = flags_.open && name.data[name.length] == 0;
  return opens ? nfs::LookupIntent::kOpenByName : nfs::LookupIntent::kWalk;
}

std::errc RefWalk::FollowLink(Inode& inode, const char* rest) {
  if (flags_.no_symlinks || links_ == kLinksMax) return std::errc::too_many_symbolic_link_levels;
  auto text = nfs::ReadLinkRef(superblock_, inode, credential_->key());
  if (!text) return text.error();
  if (text->empty()) return std::errc::no_such_file_or_directory;
  bool absolute = text->front() == '/';
  if (absolute && flags_.beneath) return std::errc::cross_device_link;
  path_.Splice(*text, rest, true);
  unprimed_ = SIZE_MAX;
  ++links_;
  if (absolute) at_ = start_.root.Copy();
  return {};
}

}  // namespace nfswalk::walk
