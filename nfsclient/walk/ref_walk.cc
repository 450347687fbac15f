#include "nfsclient/walk/ref_walk.h"

#include <utility>

#include "nfsclient/ahead/list_ahead.h"
#include "nfsclient/ahead/path_lookup.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/nfs/lookup.h"
#include "nfsclient/nfs/may_follow_link.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readlink.h"
#include "rcu/coarse_clock.h"
#include "rcu/read_guard.h"

// Read beside rcu_walk.cc: the same steps in the same order.

namespace nfswalk::walk {

using icache::Inode;
using vfs::DentryRef;
using vfs::Name;

namespace {

// Tries of IsBelow() that renames may spoil (WALK-12).
constexpr int kScopeTries = 16;

bool HasTrailingSlash(const Name& name) { return IsLast(name) && name.data[name.length] == '/'; }

std::string_view WithoutLast(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

RefWalk::RefWalk(nfs::Superblock& superblock, const WalkStart& start, PathBuffer& path,
                 sunrpc_auth::CredentialRef credential, const WalkFlags& flags,
                 Revalidation revalidation)
    : superblock_(superblock),
      start_(start),
      path_(path),
      credential_(std::move(credential)),
      flags_(flags),
      revalidation_(revalidation),
      primes_(!force() && nfs::AsksForWholePaths(superblock)) {}

void RefWalk::Start() { at_ = start_.at.Copy(); }

void RefWalk::Resume(DentryRef position, int links) {
  at_ = std::move(position);
  links_ = links;
}

std::errc RefWalk::Resolve() {
  if (std::errc error = LinkPathWalk(Goal::kPosition); error != std::errc{}) return error;
  // Directories stay: a scan passes through them again.
  if (flags_.dont_cache && !inode().is_directory()) {
    superblock_.dentries.MarkDontCache(*at_);
  }
  return {};
}

std::errc RefWalk::ResolveParent() { return LinkPathWalk(Goal::kParent); }

std::errc RefWalk::ResolveToCreate() { return LinkPathWalk(Goal::kCreate); }

// link_path_walk() and, but for kParent, the last component.
std::errc RefWalk::LinkPathWalk(Goal goal) {
  // Primed names stay cached: the name of a change is none of them, nor, with dont_cache, the
  // walk's end.
  const bool primes_last =
      goal != Goal::kParent && !flags_.dont_cache && !(goal == Goal::kCreate && flags_.open);
  bool more = true;
  while (more) {
    path_.SkipSlashes();
    if (path_.AtEnd()) break;
    nfs::WakeDelegation(superblock_, inode());
    const std::string_view primed = primes_last ? path_.rest() : WithoutLast(path_.rest());
    if (std::errc error = Prime(primed); error != std::errc{}) return error;
    if (!inode().is_directory()) return std::errc::not_a_directory;  // the start of the walk
    RefreshAhead();
    if (std::errc error = MayLookup(); error != std::errc{}) return error;

    const Name name = vfs::ScanName(path_.at(), at_.get());
    if (goal == Goal::kParent && IsLast(name)) {
      TakeLast(name);
      break;
    }
    if (goal == Goal::kCreate && HasTrailingSlash(name)) return std::errc::is_a_directory;
    if (IsDots(name)) {
      if (name.length == 2) {
        if (std::errc error = FollowDotDot(); error != std::errc{}) return error;
      }
      path_.AdvanceTo(name.data + name.length);
      continue;
    }
    if (std::errc error = StepToChild(name, goal, &more); error != std::errc{}) return error;
  }
  return {};
}

void RefWalk::RefreshAhead() {
  if (at_.get() == superblock_.root.get()) return;
  const bool primed = unprimed_ != SIZE_MAX && path_.AtEnd();
  if (!primed && nfs::AttributesFresh(superblock_, inode(), rcu::CoarseNowNs())) return;
  DentryRef directory = superblock_.dentries.Parent(*at_);
  RefreshChild(directory, inode());
  if (primed) nfs::NoteRefreshed(superblock_, directory, inode());
}

void RefWalk::RefreshChild(DentryRef& directory, const Inode& child) {
  if (force() || flags_.dont_cache || nfs::AttributesFresh(superblock_, child, rcu::CoarseNowNs()))
    return;
  nfs::RefreshAhead(superblock_, directory, child, credential_->key());
}

void RefWalk::RefreshName(const Name& name, nfs::LookupIntent intent) {
  const bool lists = intent == nfs::LookupIntent::kCreate ||
                     (intent == nfs::LookupIntent::kWalk && !flags_.dont_cache);
  if (!lists) return;
  const DentryRef known = superblock_.dentries.Lookup(*at_, name);
  if (!known || known.inode() == nullptr || nfs::VerifierMatches(*known, inode())) return;
  nfs::RefreshAhead(superblock_, at_, *known.inode(), credential_->key());
}

// may_lookup().
std::errc RefWalk::MayLookup() {
  return nfs::PermissionRef(superblock_, *at_.inode(), credential_, access_cache::kMayExec);
}

// follow_dotdot() (WALK-12).
std::errc RefWalk::FollowDotDot() {
  if (at_.get() == start_.root.get()) {
    return flags_.beneath ? std::errc::cross_device_link : std::errc{};
  }
  at_ = superblock_.dentries.Parent(*at_);
  return start_.scoped(superblock_) ? StaysInScope() : std::errc{};
}

// lookup_slow() and step_into().
std::errc RefWalk::StepToChild(const Name& name, Goal goal, bool* more) {
  // nfs_atomic_open(): the OPEN that creates a name finds it, too (NAME-8).
  if (goal == Goal::kCreate && flags_.open && !force() && IsLast(name) &&
      !superblock_.dentries.Lookup(*at_, name)) {
    *more = false;
    missing_ = true;
    last_ = name.view();
    return {};
  }
  const nfs::LookupIntent intent = IntentOf(name, goal);
  RefreshName(name, intent);
  auto child = nfs::LookupChild(superblock_, at_, name, credential_->key(), intent);
  if (!child) return child.error();
  Inode* inode = child->inode();
  const char* rest = name.data + name.length;
  *more = *rest == '/';
  if (inode == nullptr) {
    missing_ = (goal == Goal::kCreate || flags_.may_be_missing) && !*more;
    if (!missing_) return std::errc::no_such_file_or_directory;
    last_ = name.view();
    return {};
  }

  if (!flags_.dont_cache) nfs::ListAhead(superblock_, at_, credential_->key());

  auto type = inode->type.load(std::memory_order_relaxed);
  if (type == protocol::FileType::kSymlink && (*more || flags_.follow_last)) {
    *more = true;
    return FollowLink(*inode, name);
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

// pick_link() and get_link().
std::errc RefWalk::FollowLink(Inode& inode, const Name& name) {
  const bool refuses_all =
      flags_.no_symlinks && !(IsLast(name) && nfs::ProtectsLinks(superblock_, *at_.inode()));
  if (refuses_all || links_ == kLinksMax) {
    return std::errc::too_many_symbolic_link_levels;
  }
  RefreshChild(at_, inode);
  auto text = nfs::ReadLinkRef(superblock_, inode, credential_->key());
  if (!text) return text.error();
  if (IsLast(name) &&
      !nfs::MayFollowLink(superblock_, *at_.inode(), inode, credential_->key())) {
    return std::errc::permission_denied;
  }
  if (flags_.no_symlinks) return std::errc::too_many_symbolic_link_levels;
  if (text->empty()) return std::errc::no_such_file_or_directory;
  bool absolute = text->front() == '/';
  if (absolute && flags_.beneath) return std::errc::cross_device_link;
  path_.Splice(*text, name.data + name.length, true);
  unprimed_ = SIZE_MAX;
  ++links_;
  if (absolute) at_ = start_.root.Copy();
  return {};
}

void RefWalk::TakeLast(const Name& name) {
  last_ = name.view();
  trailing_slash_ = HasTrailingSlash(name);
  last_kind_ = !IsDots(name)      ? LastKind::kName
               : name.length == 1 ? LastKind::kDot
                                  : LastKind::kDotDot;
}

// Fills the caches with what the walk would ask for, component by component, in one RPC.
std::errc RefWalk::Prime(std::string_view path) {
  const size_t left = path_.rest().size();
  if (!primes_ || left > unprimed_) return {};
  const auto primed = nfs::PrimePath(superblock_, at_, path, credential_);
  if (!primed) return primed.error();
  if (*primed != 0) unprimed_ = left - *primed;
  return {};
}

// EAGAIN if a rename has moved the position out of the walk's own root, so that ".." would lead
// past it (WALK-13).
std::errc RefWalk::StaysInScope() const {
  for (int tries = 0; tries < kScopeTries; ++tries) {
    rcu::ReadGuard guard;
    const vfs::Below below = superblock_.dentries.IsBelow(*start_.root, *at_);
    if (below == vfs::Below::kYes) return {};
    if (below == vfs::Below::kNo) break;
  }
  return std::errc::resource_unavailable_try_again;
}

nfs::LookupIntent RefWalk::IntentOf(const Name& name, Goal goal) const {
  if (force()) return nfs::LookupIntent::kForce;
  const bool last = name.data[name.length] == 0;
  if (last && goal == Goal::kCreate) return nfs::LookupIntent::kCreate;
  if (last && flags_.open) return nfs::LookupIntent::kOpenByName;
  return nfs::LookupIntent::kWalk;
}

}  // namespace nfswalk::walk
