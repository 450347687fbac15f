#include "nfsclient/walk/rcu_walk.h"

#include "nfsclient/nfs/readlink.h"
#include "nfsclient/nfs/revalidate.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

// Read beside ref_walk.cc: the same steps in the same order. What is different is what RCU
// replaces.
//
// Checks in their order (WALK-7): search permission on the directory; "." and ".."; length of
// the name; the cache; revalidation; absence; symbolic link; not a directory.

namespace nfswalk::walk {

using icache::Inode;
using vfs::Dentry;
using vfs::Name;

RcuWalk::RcuWalk(Superblock& superblock, const WalkStart& start, PathBuffer& path,
                 const sunrpc_auth::Credential& credential, const WalkFlags& flags,
                 std::span<Visited> read_set, PathCache* path_cache)
    : superblock_(superblock),
      start_(start),
      path_(path),
      flags_(flags),
      credential_(superblock.credentials.LookupNonblock(credential)),
      now_ns_(rcu::CoarseNowNs()),
      at_(PositionOf(start.at)),
      read_set_(read_set),
      path_cache_(path_cache) {}

Position RcuWalk::PositionOf(const vfs::DentryRef& start) {
  return {start.get(), start->seq.Begin(), start.inode()};
}

RcuOutcome RcuWalk::Confirm(std::errc error) const {
  NFSWALK_SYNC_POINT("walk:before-confirm");
  if (at_.dentry->seq.Changed(at_.seq)) return {NeedRef::kChanged};
  for (size_t i = 0; i < visited_count_; ++i) {
    if (read_set_[i].count->Changed(read_set_[i].sample)) return {NeedRef::kChanged};
  }
  return {NeedRef::kNone, error};
}

bool RcuWalk::Remember(const rcu::SeqCount& count, uint64_t sample) {
  if (read_set_full()) return false;
  read_set_[visited_count_++] = {&count, sample};
  return true;
}

[[gnu::always_inline]] inline RcuOutcome RcuWalk::MoveTo(Position position) {
  if (flags_.strict && !Remember(at_.dentry->seq, at_.seq)) return {NeedRef::kAllocation};
  at_ = position;
  return {};
}

[[gnu::always_inline]] inline RcuOutcome RcuWalk::Enter() {
  if (flags_.strict) {
    const rcu::SeqCount& count = at_.inode->attributes_seq;
    if (!Remember(count, count.Begin())) return {NeedRef::kAllocation};
  }
  auto permission = nfs::PermissionRcu(superblock_, *at_.inode, true, credential_,
                                       access_cache::kMayExec, now_ns_, hits_);
  if (permission.need != NeedRef::kNone) return {permission.need};
  if (!permission.granted) return Confirm(std::errc::permission_denied);
  if (prefix_) RecordPrefix();
  return {};
}

[[gnu::always_inline]] inline RcuOutcome RcuWalk::StepToChild(const Name& name, bool* more) {
  NFSWALK_SYNC_POINT("walk:before-child-sample");
  uint64_t seq;
  Dentry* child = superblock_.dentries.FindRcu(at_.dentry, name, &seq);
  if (child == nullptr) return {NeedRef::kMiss};
  Inode* inode = child->inode.load(std::memory_order_relaxed);
  NFSWALK_SYNC_POINT("walk:after-child-sample");
  if (at_.dentry->seq.Changed(at_.seq)) return {NeedRef::kChanged};
  NeedRef need = nfs::RevalidateRcu(superblock_, *child, inode, *at_.inode);
  // Only now is the inode, or its absence, what the name stands for.
  if (child->seq.Changed(seq)) return {NeedRef::kChanged};
  if (need != NeedRef::kNone) return {need};
  const Position next{child, seq, inode};
  if (inode == nullptr) {
    if (RcuOutcome moved = MoveTo(next); !moved.ok()) return moved;
    return Confirm(std::errc::no_such_file_or_directory);
  }

  const char* rest = name.data + name.length;
  *more = *rest == '/';
  auto type = inode->type.load(std::memory_order_relaxed);
  if (type == protocol::FileType::kSymlink && (*more || flags_.follow_last)) {
    *more = true;
    return FollowLink(*child, seq, *inode, rest);
  }
  if (RcuOutcome moved = MoveTo(next); !moved.ok()) return moved;
  if (*more && type != protocol::FileType::kDirectory) return Confirm(std::errc::not_a_directory);
  path_.AdvanceTo(rest);
  return {};
}

RcuOutcome RcuWalk::Resolve() {
  if (credential_ == nullptr) return {NeedRef::kAllocation};
  // The way is known to directories that may be searched. Until the first step it is where the walk
  // is, too.
  const Dentry* known = path_cache_ != nullptr ? TakePrefix() : nullptr;
  bool more = true;
  while (more) {
    path_.SkipSlashes();
    if (path_.AtEnd()) break;
    NFSWALK_SYNC_POINT("walk:next-component");
    if (known == nullptr) {
      if (RcuOutcome entered = Enter(); !entered.ok()) return entered;
    }
    const char* text = path_.at();
    // Two calls, lest the compiler make them one that waits for at_, which is still on its way.
    const Name name =
        known != nullptr ? vfs::ScanName(text, known) : vfs::ScanName(text, at_.dentry);
    known = nullptr;
    if (text[0] == '.' && name.length <= 2 && (name.length == 1 || text[1] == '.')) {
      if (name.length == 2) {
        if (RcuOutcome up = StepToParent(); !up.ok()) return up;
      }
      path_.AdvanceTo(text + name.length);
      continue;
    }
    if (name.length > superblock_.limits.name_bytes_max) {
      return Confirm(std::errc::filename_too_long);
    }
    if (RcuOutcome step = StepToChild(name, &more); !step.ok()) return step;
  }
  return {};
}

// Begins at the directory of the last component if the thread has come to it before, or lets this
// walk find out what to remember of it.
[[gnu::always_inline]] inline const Dentry* RcuWalk::TakePrefix() {
  const auto way = PathCache::PrefixKeyOf(path_.rest(), superblock_, credential_);
  if (!way) return nullptr;
  if (const Dentry* const known = path_cache_->Find(way, superblock_, now_ns_, &at_)) {
    prefix_hit_ = true;
    path_.AdvanceTo(way.text.end());
    return known;
  }
  if (path_cache_->ShouldInsert(way)) {
    if (const auto sample = superblock_.directory_changes.TrySample()) {
      prefix_ = way;
      prefix_sample_ = *sample;
    }
  }
  return nullptr;
}

// For how long the directory that was just entered may be searched and its names be believed; if
// it is the last of the way, that is remembered.
void RcuWalk::RecordPrefix() {
  const Inode& directory = *at_.inode;
  const auto granted =
      directory.access.GrantedAtRcu(credential_, {now_ns_, superblock_.acdirmax_ns});
  if (!granted) {  // a moment ago they were there
    prefix_ = {};
    return;
  }
  prefix_validity_.Narrow(*granted, superblock_.acdirmax_ns);
  prefix_validity_.Narrow(directory.read_at_ns.load(std::memory_order_relaxed),
                          directory.lifetime_ns.load(std::memory_order_relaxed));
  if (path_.at() < prefix_.text.end()) return;
  path_cache_->Remember(prefix_, at_, superblock_, prefix_sample_, prefix_validity_, now_ns_);
  prefix_ = {};
}

// Rarer steps.

RcuOutcome RcuWalk::StepToParent() {
  prefix_ = {};
  if (at_.dentry == start_.root.get()) {
    return flags_.beneath ? Confirm(std::errc::cross_device_link) : RcuOutcome{};
  }
  Dentry* parent = at_.dentry->parent.load(std::memory_order_relaxed);
  uint64_t seq = parent->seq.Begin();
  Inode* inode = parent->inode.load(std::memory_order_relaxed);
  NFSWALK_SYNC_POINT("walk:before-dotdot-check");
  if (at_.dentry->seq.Changed(at_.seq)) return {NeedRef::kChanged};
  if (start_.scoped(superblock_) &&
      superblock_.dentries.IsBelow(*start_.root, *parent) != vfs::Below::kYes) {
    return {NeedRef::kChanged};
  }
  return MoveTo({parent, seq, inode});
}

RcuOutcome RcuWalk::FollowLink(const Dentry& link, uint64_t seq, const Inode& inode,
                               const char* rest) {
  prefix_ = {};
  if (flags_.no_symlinks || links_ == kLinksMax) {
    return Confirm(std::errc::too_many_symbolic_link_levels);
  }
  const uint64_t attributes = inode.attributes_seq.Begin();  // before what they vouch for
  nfs::RcuLink body = nfs::ReadLinkRcu(inode, now_ns_);
  NFSWALK_SYNC_POINT("walk:after-link-text");
  if (body.need != NeedRef::kNone) return {body.need};
  if (link.seq.Changed(seq)) return {NeedRef::kChanged};
  if (flags_.strict && !(Remember(link.seq, seq) && Remember(inode.attributes_seq, attributes))) {
    return {NeedRef::kAllocation};
  }
  if (body.text.empty()) return Confirm(std::errc::no_such_file_or_directory);
  bool absolute = body.text.front() == '/';
  if (absolute && flags_.beneath) return Confirm(std::errc::cross_device_link);
  if (!path_.Splice(body.text, rest, false)) return {NeedRef::kAllocation};
  ++links_;
  return absolute ? MoveTo(PositionOf(start_.root)) : RcuOutcome{};
}

nfs::RcuPermission RcuWalk::Permission(uint32_t may_mask) {
  bool directory = at_.inode->is_directory();
  return nfs::PermissionRcu(superblock_, *at_.inode, directory, credential_, may_mask, now_ns_,
                            hits_);
}

vfs::DentryRef RcuWalk::Unlazy(vfs::DentryRef& unwanted) const {
  vfs::DentryRef reference = superblock_.dentries.TryReference(at_.dentry);
  NFSWALK_SYNC_POINT("unlazy:after-reference");
  if (reference && at_.dentry->seq.Changed(at_.seq)) {
    unwanted = std::move(reference);
    return {};
  }
  return reference;
}

}  // namespace nfswalk::walk
