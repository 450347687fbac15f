#include "nfsclient/nfs/path_lookup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/prime.h"
#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/splice.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using sunrpc_auth::CredentialRef;
using vfs::DentryRef;
using vfs::DirectoryLocks;
using vfs::LookupsInFlight;
using vfs::Name;

namespace {

// Bounds one request; more than paths have in practice.
constexpr size_t kNamesMax = 64;

struct Names {
  std::vector<std::string_view> names;
  size_t bytes = 0;  // of the path, up to the end of the last
};

Names Split(const Superblock& superblock, std::string_view path) {
  Names result;
  size_t at = 0;
  // Dots and slashes count too: the split is repeated for each component of a path not primed.
  for (size_t pieces = 0; at < path.size() && pieces < kNamesMax; ++pieces) {
    const size_t length = std::min(path.find('/', at), path.size()) - at;
    const std::string_view name = path.substr(at, length);
    if (length > vfs::kNameMax || length > superblock.limits.name_bytes_max) break;
    if (length != 0 && name != ".") result.names.push_back(name);
    result.bytes = at + length;
    at = result.bytes + 1;
  }
  return result;
}

// What the walk would have to ask the server for: search permission on the directory, the name in
// it.
struct Missing {
  bool rights;
  bool name;
};
Missing WhatIsMissing(Superblock& superblock, DentryRef& directory, const Name& name,
                      const CredentialRef& credential) {
  Inode& inode = *directory.inode();
  const bool fresh = AttributesFresh(inode, rcu::CoarseNowNs());
  const DentryRef child = superblock.dentries.Lookup(*directory, name);
  const bool known = child && VerifierMatches(*child, inode);
  return {!fresh || !HasCachedAccess(superblock, inode, credential), !fresh || !known};
}

// Takes a reply into the caches, name by name.
class PathPrimer {
 public:
  // `lock`: of the directory where the path begins, held since before the request was sent.
  PathPrimer(Superblock& superblock, const CredentialRef& credential, SendStamp stamp,
             DirectoryLocks::Shared lock)
      : superblock_(superblock), credential_(credential), stamp_(stamp), lock_(std::move(lock)) {}

  void Begin(DentryRef& directory, const protocol::LookupPathReply& reply) {
    at_ = directory.Copy();
    Inode& inode = *at_.inode();
    if (reply.error == protocol::kStale && reply.steps.empty()) MarkStale(superblock_, inode);
    if (!reply.directory) return;
    (void)UpdateAttributes(superblock_, inode, *reply.directory, stamp_, &context_);
    CacheAccess(inode, reply.granted);
  }

  // False if the rest of the path cannot be primed.
  bool Step(std::string_view name, const protocol::PathStep& step) {
    return name == ".." ? StepUp(step) : StepDown(name, step);
  }

  // The name does not exist.
  void End(std::string_view name) {
    const vfs::PaddedName padded(name, at_.get());
    auto lock = Lock();
    if (!lock || !IsLatest(*at_.inode(), context_)) return;
    if (DentryRef known = superblock_.dentries.Lookup(*at_, padded.name())) {
      superblock_.dentries.Drop(*known);
    }
    (void)SpliceChild(superblock_, at_, padded.name(), {}, context_.change_id);
  }

 private:
  // Locks the current directory; the first one is locked already.
  DirectoryLocks::Shared Lock() {
    if (lock_) return std::move(lock_);
    return superblock_.directory_locks.LockShared(*at_.inode());
  }

  void CacheAccess(Inode& inode, std::optional<uint32_t> granted) {
    if (!granted || context_.generation == 0) return;
    nfs::CacheAccess(superblock_, inode, credential_, *granted, stamp_.sent_at_ns, context_.epoch);
  }

  bool StepDown(std::string_view name, const protocol::PathStep& step) {
    const vfs::PaddedName padded(name, at_.get());
    ReplyContext context;
    DentryRef child;
    {
      auto lock = Lock();
      if (!lock || !IsLatest(*at_.inode(), context_)) return false;
      child = PrimeName(superblock_, at_, padded.name(), step.handle, step.attributes, stamp_,
                        context_.change_id, &context);
    }
    if (!child || child.inode() == nullptr) return false;
    at_ = std::move(child);
    context_ = context;
    CacheAccess(*at_.inode(), step.granted);
    return true;
  }

  // `..` is the dentry's parent, whatever directory the server answered with.
  bool StepUp(const protocol::PathStep& step) {
    if (at_.get() == superblock_.root.get()) return false;
    at_ = superblock_.dentries.Parent(*at_);
    Inode& inode = *at_.inode();
    ReplyContext context;
    if (!inode.HasHandle(step.handle) ||
        UpdateAttributes(superblock_, inode, step.attributes, stamp_, &context) != std::errc{}) {
      return false;
    }
    context_ = context;
    CacheAccess(inode, step.granted);
    return true;
  }

  Superblock& superblock_;
  const CredentialRef& credential_;
  const SendStamp stamp_;
  DirectoryLocks::Shared lock_;
  DentryRef at_;
  ReplyContext context_;
};

// Reserves the name after `step`, which is names[at]; not owned if another thread has reserved it
// or there is none.
LookupsInFlight::Ticket TakeNext(Superblock& superblock, const std::vector<std::string_view>& names,
                                 size_t at, const protocol::PathStep& step) {
  if (at + 1 == names.size() || names[at + 1] == "..") return {};
  return superblock.lookups.TryBegin(step.handle, names[at + 1]);
}

}  // namespace

bool AsksForWholePaths(const Superblock& superblock) {
  return superblock.options.compound && superblock.protocol->can_lookup_paths() &&
         superblock.acdirmin_ns != 0 && superblock.options.lookupcache != LookupCache::kNone;
}

std::expected<size_t, std::errc> PrimePath(Superblock& superblock, DentryRef& directory,
                                           std::string_view path, const CredentialRef& credential) {
  const Names names = Split(superblock, path);
  if (names.names.empty() || names.names.front() == "..") return 0;
  const vfs::PaddedName first(names.names.front(), directory.get());
  const auto is_worth_it = [&] {
    const Missing missing = WhatIsMissing(superblock, directory, first.name(), credential);
    return names.names.size() == 1 ? missing.rights && missing.name
                                   : missing.rights || missing.name;
  };
  if (!is_worth_it()) return 0;
  Inode& inode = *directory.inode();
  auto ticket = superblock.lookups.Begin(inode.handle(), first.name().view());
  if (!ticket) return std::unexpected(ticket.error());
  // Again: another thread may have finished its lookup before this one began.
  if (!is_worth_it()) return 0;

  auto lock = superblock.directory_locks.LockShared(inode);
  if (!lock) return std::unexpected(std::errc::timed_out);
  const SendStamp stamp = Stamp(superblock);
  const auto reply =
      superblock.protocol->LookupPath(inode.handle(), names.names, credential->key());
  NFSWALK_SYNC_POINT("path-lookup:after-rpc");
  // Out of time: the walk must not send requests of its own.
  if (reply.error == std::errc::timed_out || reply.error == std::errc::operation_canceled) {
    return std::unexpected(reply.error);
  }
  PathPrimer primer(superblock, credential, stamp, std::move(lock));
  primer.Begin(directory, reply);
  for (size_t i = 0; i < std::min(reply.steps.size(), names.names.size()); ++i) {
    // Reserve the next name before this one becomes visible: a walk right behind must wait for it
    // instead of sending a LOOKUP.
    auto next = TakeNext(superblock, names.names, i, reply.steps[i]);
    if (!primer.Step(names.names[i], reply.steps[i])) return names.bytes;
    ticket = std::move(next);
    NFSWALK_SYNC_POINT("path-lookup:between-names");
  }
  if (reply.name_is_missing && reply.steps.size() < names.names.size()) {
    primer.End(names.names[reply.steps.size()]);
  }
  return names.bytes;
}

}  // namespace nfswalk::nfs
