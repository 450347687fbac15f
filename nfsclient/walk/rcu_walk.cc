#include "nfsclient/walk/rcu_walk.h"

#include "nfsclient/nfs/may_follow_link.h"
#include "nfsclient/nfs/readlink.h"
#include "nfsclient/nfs/revalidate.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

// Read beside ref_walk.cc: the same steps in the same order. What differs is what RCU replaces.
//
// Checks of a component in their order (WALK-7): search permission on the directory; "." and "..";
// length of the name; the cache; revalidation; absence; symbolic link; not a directory.
//
// Cache lines that a stat from the caches loads, beside the path and the stack:
//   thread   4  its PathCache, counters, thread index and state in liburcu
//   mount    7  walks_under_rcu; delegation_ends and limits; root, directory_changes,
//               DentryCache::table_; the credential and the head of its chain
//   prefix   3  its set; its entry, with up to 46 bytes of text in two lines
//   file     5  the head of its chain; its dentry, with up to 16 bytes of name; the first three of
//               its inode
// Thread and mount are the same for all stats, the prefix for those of a directory. Without the
// path cache each directory costs 3 lines instead: head, dentry and the first of its inode; 2 more,
// a list and its entry, where several users have searched it.

namespace nfswalk::walk {

using icache::Inode;
using vfs::Dentry;
using vfs::Name;

RcuWalk::RcuWalk(nfs::Superblock& superblock, const WalkStart& start, PathBuffer& path,
                 const sunrpc_auth::Credential& credential, const WalkFlags& flags,
                 ReadSet* read_set, PathCache* path_cache)
    : superblock_(superblock),
      start_(start),
      path_(path),
      flags_(flags),
      credential_(superblock.credentials.LookupNonblock(credential)),
      now_ns_(rcu::CoarseNowNs()),
      delegation_ends_(superblock.delegation_ends.load(
          std::memory_order_acquire)),  // pairs with EndDelegation()
      at_(PositionOf(start.at)),
      read_set_(read_set),
      prefix_(path_cache) {}

Position RcuWalk::PositionOf(const vfs::DentryRef& start) {
  return {start.get(), start->seq.Begin(), start.inode()};
}

RcuOutcome RcuWalk::Resolve() { return LinkPathWalk<Goal::kPosition>(); }

RcuOutcome RcuWalk::ResolveParent() { return LinkPathWalk<Goal::kParent>(); }

// link_path_walk() and, but for kParent, the last component.
template <RcuWalk::Goal goal>
[[gnu::always_inline]] inline RcuOutcome RcuWalk::LinkPathWalk() {
  if (credential_ == nullptr) return {nfs::NeedRef::kAllocation};
  // The position until the first step if the prefix is cached: it may be searched. Else null.
  const Dentry* from_cache = prefix_.Begin({superblock_, credential_, now_ns_}, path_, &at_);
  bool more = true;
  while (more) {
    path_.SkipSlashes();
    if (path_.AtEnd()) break;
    NFSWALK_SYNC_POINT("walk:next-component");
    if (from_cache == nullptr) {
      if (RcuOutcome may = MayLookup(); !may.ok()) return may;
    }
    const char* text = path_.at();
    // Two calls, lest the compiler merge them into one that waits for at_ to be loaded.
    const Name name =
        from_cache != nullptr ? vfs::ScanName(text, from_cache) : vfs::ScanName(text, at_.dentry);
    from_cache = nullptr;
    if constexpr (goal == Goal::kParent) {
      if (IsLast(name)) break;
    }
    if (IsDots(name)) {
      // The start of a walk, an export's root, need not be one.
      if (!at_.inode->is_directory()) return Confirm(std::errc::not_a_directory);
      if (name.length == 2) {
        if (RcuOutcome up = FollowDotDot(); !up.ok()) return up;
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

// may_lookup().
[[gnu::always_inline]] inline RcuOutcome RcuWalk::MayLookup() {
  if (read_set_ != nullptr) {
    const rcu::SeqCount& count = at_.inode->attributes_seq;
    if (!read_set_->Add(count, count.Begin())) return {nfs::NeedRef::kAllocation};
  }
  auto permission = nfs::PermissionRcu(superblock_, *at_.inode, true, credential_,
                                       access_cache::kMayExec, now_ns_, hits_);
  if (permission.need != nfs::NeedRef::kNone) return {permission.need};
  if (!permission.granted) {
    return Confirm(at_.inode->is_directory() ? std::errc::permission_denied
                                             : std::errc::not_a_directory);
  }
  prefix_.EnterDirectory({superblock_, credential_, now_ns_}, at_, path_.at());
  return {};
}

// follow_dotdot_rcu() (WALK-12).
RcuOutcome RcuWalk::FollowDotDot() {
  prefix_.Forget();
  if (at_.dentry == start_.root.get()) {
    return flags_.beneath ? Confirm(std::errc::cross_device_link) : RcuOutcome{};
  }
  Dentry* parent = at_.dentry->parent.load(std::memory_order_relaxed);
  uint64_t seq = parent->seq.Begin();
  Inode* inode = parent->inode.load(std::memory_order_relaxed);
  NFSWALK_SYNC_POINT("walk:before-dotdot-check");
  if (at_.dentry->seq.Changed(at_.seq)) return {nfs::NeedRef::kChanged};
  if (start_.scoped(superblock_) &&
      superblock_.dentries.IsBelow(*start_.root, *parent) != vfs::Below::kYes) {
    return {nfs::NeedRef::kChanged};
  }
  return MoveTo({parent, seq, inode});
}

// lookup_fast() and step_into() (WALK-3).
[[gnu::always_inline]] inline RcuOutcome RcuWalk::StepToChild(const Name& name, bool* more) {
  NFSWALK_SYNC_POINT("walk:before-child-sample");
  uint64_t seq;
  Dentry* child = superblock_.dentries.FindRcu(at_.dentry, name, &seq);
  if (child == nullptr) return {nfs::NeedRef::kMiss};
  Inode* inode = child->inode.load(std::memory_order_relaxed);
  NFSWALK_SYNC_POINT("walk:after-child-sample");
  if (at_.dentry->seq.Changed(at_.seq)) return {nfs::NeedRef::kChanged};
  nfs::NeedRef need =
      nfs::RevalidateRcu(superblock_.options.lookupcache, *child, inode, *at_.inode);
  if (need != nfs::NeedRef::kNone && read_set_ != nullptr && read_set_->trusts_lookups())
      [[unlikely]] {
    need = nfs::RevalidateRcu(nfs::LookupCache::kAll, *child, inode, *at_.inode);
  }
  // Only after this the inode, or its absence, is that of the name.
  if (child->seq.Changed(seq)) return {nfs::NeedRef::kChanged};
  if (need != nfs::NeedRef::kNone) return {need};
  const Position next{child, seq, inode};
  if (inode == nullptr) {
    if (RcuOutcome moved = MoveTo(next); !moved.ok()) return moved;
    *more = name.data[name.length] == '/';
    if (flags_.may_be_missing && !*more) {
      path_.AdvanceTo(name.data + name.length);
      return {};
    }
    return Confirm(std::errc::no_such_file_or_directory);
  }

  const char* rest = name.data + name.length;
  *more = *rest == '/';
  auto type = inode->type.load(std::memory_order_relaxed);
  if (type == protocol::FileType::kSymlink && (*more || flags_.follow_last)) {
    *more = true;
    return FollowLink(*child, seq, *inode, name);
  }
  if (RcuOutcome moved = MoveTo(next); !moved.ok()) return moved;
  if (*more && type != protocol::FileType::kDirectory) return Confirm(std::errc::not_a_directory);
  path_.AdvanceTo(rest);
  return {};
}

// pick_link() and get_link().
RcuOutcome RcuWalk::FollowLink(const Dentry& link, uint64_t seq, const Inode& inode,
                               const Name& name) {
  prefix_.Forget();
  const bool refuses_all =
      flags_.no_symlinks && !(IsLast(name) && nfs::ProtectsLinks(superblock_, *at_.inode));
  if (refuses_all || links_ == kLinksMax) {
    return Confirm(std::errc::too_many_symbolic_link_levels);
  }
  const uint64_t attributes = inode.attributes_seq.Begin();  // before the text that they validate
  nfs::RcuLink body = nfs::ReadLinkRcu(superblock_, inode, now_ns_);
  NFSWALK_SYNC_POINT("walk:after-link-text");
  if (body.need != nfs::NeedRef::kNone) return {body.need};
  nfs::RcuFollow may{nfs::NeedRef::kNone, true};
  if (IsLast(name)) {
    may = nfs::MayFollowLinkRcu(superblock_, *at_.inode, inode, credential_->key());
    if (may.need != nfs::NeedRef::kNone) return {may.need};
  }
  if (link.seq.Changed(seq)) return {nfs::NeedRef::kChanged};
  if (read_set_ != nullptr &&
      !(read_set_->Add(link.seq, seq) && read_set_->Add(inode.attributes_seq, attributes))) {
    return {nfs::NeedRef::kAllocation};
  }
  if (!may.granted) return Confirm(std::errc::permission_denied);
  if (flags_.no_symlinks) return Confirm(std::errc::too_many_symbolic_link_levels);
  if (body.text.empty()) return Confirm(std::errc::no_such_file_or_directory);
  bool absolute = body.text.front() == '/';
  if (absolute && flags_.beneath) return Confirm(std::errc::cross_device_link);
  const char* rest = name.data + name.length;
  if (!path_.Splice(body.text, rest, false)) return {nfs::NeedRef::kAllocation};
  ++links_;
  return absolute ? MoveTo(PositionOf(start_.root)) : RcuOutcome{};
}

[[gnu::always_inline]] inline RcuOutcome RcuWalk::MoveTo(Position position) {
  if (read_set_ != nullptr && !read_set_->Add(at_.dentry->seq, at_.seq)) {
    return {nfs::NeedRef::kAllocation};
  }
  at_ = position;
  return {};
}

nfs::RcuPermission RcuWalk::Permission(uint32_t may_mask) {
  bool directory = at_.inode->is_directory();
  return nfs::PermissionRcu(superblock_, *at_.inode, directory, credential_, may_mask, now_ns_,
                            hits_);
}

const Inode& RcuWalk::parent_inode() const {
  return *at_.dentry->parent.load(std::memory_order_relaxed)->inode.load(std::memory_order_relaxed);
}

RcuOutcome RcuWalk::Confirm(std::errc error) const {
  NFSWALK_SYNC_POINT("walk:before-confirm");
  if (at_.dentry->seq.Changed(at_.seq)) return {nfs::NeedRef::kChanged};
  if (read_set_ != nullptr && read_set_->Changed()) return {nfs::NeedRef::kChanged};
  // Behind the acquire fence of Changed(): pairs with EndDelegation().
  if (superblock_.delegation_ends.load(std::memory_order_relaxed) != delegation_ends_) {
    return {nfs::NeedRef::kChanged};
  }
  return {nfs::NeedRef::kNone, error};
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
