// Lookups of a caller with caches of its own: what a name leads to, and for how long that holds.

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "nfsclient/api/stat_completion.h"
#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/superblock/node_id.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/walk.h"
#include "rcu/coarse_clock.h"
#include "rcu/fork.h"

namespace nfswalk {

using walk::RcuOutcome;
using walk::RcuWalk;
using walk::RefWalk;

namespace {

// False for "", "/", ".", ".." and for a trailing slash: no name of the result was looked up.
bool EndsWithName(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return !last.empty() && last != "." && last != "..";
}

// The result of either walk. How long the attributes are valid is read before them: they may only
// be newer than that. Filled in by the last walk that runs.
struct Found {
  // A reference must not be dropped inside the RCU section: `by_rcu` is assigned once, by the last
  // try; `by_ref` may be left of an earlier one.
  vfs::DentryRef by_rcu, by_ref;
  bool is_missing = false;  // the name does not exist
  Attributes attributes;
  uint64_t name_valid_ns = 0;
  uint64_t attributes_valid_ns = 0;
  // Dentry::seq of a name that RCU-walk has found, where it leaves the attributes to ref-walk.
  std::optional<uint64_t> name_seq = {};
};

RcuOutcome FindRcu(const nfs::Superblock& superblock, RcuWalk& walk, bool has_name, Found& found) {
  found.is_missing = walk.missing();
  const icache::Inode* const inode = walk.missing() ? nullptr : &walk.inode();
  if (inode != nullptr) {
    if (has_name) found.name_seq = walk.dentry().seq.Begin();
    found.attributes_valid_ns = nfs::AttributesLeftNs(superblock, *inode, walk.now_ns());
    const NeedRef need =
        nfs::CopyFreshAttributesRcu(superblock, *inode, walk.now_ns(), found.attributes);
    if (need != NeedRef::kNone) return {need};
  }
  if (has_name) {
    found.name_valid_ns =
        nfs::NameLeftNs(superblock, walk.dentry(), inode, walk.parent_inode(), walk.now_ns());
  }
  if (const RcuOutcome outcome = walk.ConfirmUsed(); !outcome.ok()) return outcome;
  if (inode == nullptr) return {};
  found.by_rcu = walk.Reference();
  return found.by_rcu ? RcuOutcome{} : RcuOutcome{NeedRef::kChanged};
}

// For how long the name of the position is valid. RCU-walk may have gone to the end of the path, so
// that ref-walk has no parent: then the dentry still has the name if its seq is still `name_seq`.
uint64_t NameLeftNs(nfs::Superblock& superblock, RefWalk& walk, std::optional<uint64_t> name_seq,
                    uint64_t now_ns) {
  const vfs::DentryRef& position = walk.position();
  if (walk.parent()) {
    const vfs::PaddedName name(walk.last(), walk.parent().get());
    return nfs::NameLeftNs(superblock, walk.parent(), name.name(), position, now_ns);
  }
  if (!name_seq) return 0;
  const vfs::DentryRef parent = superblock.dentries.Parent(*position);
  if (!parent) return 0;
  const uint64_t left_ns =
      nfs::NameLeftNs(superblock, *position, &walk.inode(), *parent.inode(), now_ns);
  return position->seq.Changed(*name_seq) ? 0 : left_ns;
}

std::errc FindRef(nfs::Superblock& superblock, RefWalk& walk, Found& found) {
  const auto name_seq = std::exchange(found, {}).name_seq;
  if (walk.missing()) {
    const vfs::PaddedName name(walk.last(), walk.position().get());
    const vfs::DentryRef negative = superblock.dentries.Lookup(*walk.position(), name.name());
    if (negative && negative.inode() == nullptr) {
      found.name_valid_ns =
          nfs::NameLeftNs(superblock, walk.position(), name.name(), negative, rcu::CoarseNowNs());
    }
    found.is_missing = true;
    return kOk;
  }
  const std::errc error = StatRef(superblock, walk);
  if (error != kOk) return error;
  const uint64_t now_ns = rcu::CoarseNowNs();
  found.attributes_valid_ns = nfs::AttributesLeftNs(superblock, walk.inode(), now_ns);
  nfs::CopyAttributes(walk.inode(), found.attributes);
  found.name_valid_ns = NameLeftNs(superblock, walk, name_seq, now_ns);
  found.by_ref = walk.position().Copy();
  return kOk;
}

}  // namespace

Result<LookupResult> Node::LookupFrom(nfs::Superblock& superblock, const vfs::DentryRef* node,
                                      std::string_view path, const Credential& credential,
                                      ResolveFlags flags) try {
  flags.no_follow = true;
  WalkRequest request = RequestOf(superblock, node, PathCall::kResolve, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  request.flags.may_be_missing = true;
  const bool has_name = EndsWithName(path);
  Found found;
  const std::errc error = walk::Resolve(
      superblock, request.start, request.path, credential, request.flags,
      [&](RcuWalk& walk) { return FindRcu(superblock, walk, has_name, found); },
      [&](RefWalk& walk) { return FindRef(superblock, walk, found); });
  if (error != kOk) return std::unexpected(error);
  LookupResult result{.node = nullptr,
                      .attributes = found.attributes,
                      .attributes_valid_ns = found.attributes_valid_ns,
                      .name_valid_ns = has_name ? found.name_valid_ns : 0};
  if (!found.is_missing) {
    vfs::DentryRef& last = found.by_rcu ? found.by_rcu : found.by_ref;
    auto at = std::make_unique<const vfs::DentryRef>(std::move(last));
    result.node.reset(new Node(superblock, std::move(at)));
  }
  return result;
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

Result<LookupResult> Node::Lookup(std::string_view path, const Credential& credential,
                                  ResolveFlags flags) const {
  return LookupFrom(superblock_, at_.get(), path, credential, flags);
}

// Returns the file that has just been opened: its attributes are those that the reply left.
LookupResult Node::FoundAt(nfs::Superblock& superblock, const vfs::DentryRef& directory,
                           std::string_view name, const vfs::DentryRef& at) {
  const uint64_t now_ns = rcu::CoarseNowNs();
  LookupResult found;
  found.node.reset(new Node(superblock, std::make_unique<const vfs::DentryRef>(at.Copy())));
  found.attributes_valid_ns = nfs::AttributesLeftNs(superblock, *at.inode(), now_ns);
  nfs::CopyAttributes(*at.inode(), found.attributes);
  if (name.empty()) return found;
  const vfs::PaddedName padded(name, directory.get());
  found.name_valid_ns = nfs::NameLeftNs(superblock, directory, padded.name(), at, now_ns);
  return found;
}

bool Node::IsNameValid(std::string_view name) const {
  if (name.empty() || name.size() > vfs::kNameMax || rcu::InForkedChild()) return false;
  const vfs::DentryRef& directory = at_ != nullptr ? *at_ : superblock_.root;
  const vfs::PaddedName padded(name, directory.get());
  const vfs::DentryRef known = superblock_.dentries.Lookup(*directory, padded.name());
  return known && nfs::IsNameValid(superblock_, *known, known.inode(), *directory.inode(),
                                   rcu::CoarseNowNs());
}

bool Node::LeadsToOpenFile(std::string_view name) const {
  if (name.empty() || name.size() > vfs::kNameMax || rcu::InForkedChild()) return false;
  const vfs::DentryRef& directory = at_ != nullptr ? *at_ : superblock_.root;
  const vfs::PaddedName padded(name, directory.get());
  const vfs::DentryRef known = superblock_.dentries.Lookup(*directory, padded.name());
  if (!known || known.inode() == nullptr) return false;
  const icache::Inode& inode = *known.inode();
  return inode.is_directory() ? superblock_.open_inodes.HidesIn(inode) : inode.opens.is_open();
}

NodeId Node::id() const {
  if (rcu::InForkedChild()) return {};
  return nfs::NodeIdOf(*(at_ != nullptr ? *at_ : superblock_.root).inode());
}

bool Node::is_stale() const {
  if (rcu::InForkedChild()) return false;
  const icache::Inode& inode = *(at_ != nullptr ? *at_ : superblock_.root).inode();
  return (inode.flags.load() & icache::kStale) != 0;
}

Attributes Node::attributes() const {
  Attributes attributes;
  if (rcu::InForkedChild()) return attributes;
  nfs::CopyAttributes(*(at_ != nullptr ? *at_ : superblock_.root).inode(), attributes);
  return attributes;
}

}  // namespace nfswalk
