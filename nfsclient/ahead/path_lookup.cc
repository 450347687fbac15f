#include "nfsclient/ahead/path_lookup.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nfsclient/ahead/path_primer.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/revalidate.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using sunrpc_auth::CredentialRef;
using vfs::DentryRef;
using vfs::LookupsInFlight;
using vfs::Name;

namespace {

// Caches that the walk would miss: search permission on the directory, the name in it.
struct Missing {
  bool rights;
  bool name;
};
Missing WhatIsMissing(Superblock& superblock, DentryRef& directory, const Name& name,
                      const CredentialRef& credential) {
  Inode& inode = *directory.inode();
  const bool fresh = AttributesFresh(superblock, inode, rcu::CoarseNowNs());
  const DentryRef child = superblock.dentries.Lookup(*directory, name);
  const bool known = child && VerifierMatches(*child, inode);
  return {!fresh || !CachedAccess(superblock, inode, credential), !fresh || !known};
}

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
  const PathNames names = SplitPath(superblock, path);
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

  auto lock = superblock.inode_locks.LockShared(inode);
  if (!lock) return std::unexpected(protocol::CallDeadline::Error());
  const SendStamp stamp = Stamp(superblock);
  const auto reply =
      superblock.protocol->LookupPath(inode.handle(), names.names, credential->key());
  NFSWALK_SYNC_POINT("path-lookup:after-rpc");
  // Out of time: the walk must not send requests of its own.
  if (reply.error == std::errc::timed_out || reply.error == std::errc::operation_canceled) {
    return std::unexpected(reply.error);
  }
  DueDelegations due(superblock, credential);
  PathPrimer primer(superblock, credential, stamp, due);
  primer.Begin(directory, reply);
  for (size_t i = 0; i < std::min(reply.steps.size(), names.names.size()); ++i) {
    // Reserve the next name before this one becomes visible: a walk right behind must wait for it
    // instead of sending a LOOKUP.
    auto next = TakeNext(superblock, names.names, i, reply.steps[i]);
    if (!primer.Step(names.names[i], reply.steps[i])) return names.bytes;
    if (lock) lock.unlock();
    ticket = std::move(next);
    NFSWALK_SYNC_POINT("path-lookup:between-names");
  }
  if (reply.name_is_missing && reply.steps.size() < names.names.size()) {
    primer.End(names.names[reply.steps.size()]);
  }
  return names.bytes;
}

}  // namespace nfswalk::nfs
