// Opens of what a walk led to: by handle in version 3, by name in version 4, where nodes are opened
// by handle from 4.1 on.

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "nfsclient/api/file_state.h"
#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/data/set_attributes.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/nfs/may_create_in_sticky.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/stale_name.h"
#include "nfsclient/superblock/open_file_names.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/walk.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk {

using walk::RcuOutcome;
using walk::RcuWalk;
using walk::RefWalk;

namespace {

bool IsUnlinked(const icache::Inode& inode) {
  return (inode.flags.load() & icache::kUnlinked) != 0;
}

struct OpenRequest {
  nfs::Superblock& superblock;
  icache::Inode& inode;
  uint32_t rights;
  const Credential& credential;

  // True of an error of an OPEN by name which says that it leads to the regular file no more.
  bool IsNameChanged(std::errc error) const { return nfs::ContradictsName(error, &inode); }
  // A name that the server opens nothing by, or another file, is looked up when it is next used.
  protocol::OpenReply OpenBy(const vfs::DentryRef& directory, std::string_view name) const {
    auto reply = Send(directory.inode()->handle(), name);
    if (IsNameChanged(reply.error) && !name.empty()) {
      const vfs::PaddedName padded(name, directory.get());
      nfs::ExpireName(superblock, directory, padded.name());
    }
    return reply;
  }
  protocol::OpenReply Send(const protocol::FileHandle& directory, std::string_view name) const {
    const auto ask =
        rights == kMayRead ? nfs::AsksDelegation(superblock, inode) : protocol::AskDelegation::kNo;
    return superblock.protocol->Open(directory, name, inode.handle(), (rights & kMayRead) != 0,
                                     (rights & kMayWrite) != 0, credential, ask);
  }
};

// Opens a node where there is no CLAIM_FH, as in version 4.0: by the name that it was resolved by,
// as that is now; by the latest name of the file, first if the other was removed here; by any other
// known of it; by that which hides it (NAME-31). kStale if the server knows none of them.
protocol::OpenReply OpenByAnyName(const OpenRequest& request, vfs::Dentry& resolved) {
  vfs::DentryCache& dentries = request.superblock.dentries;
  protocol::OpenReply reply;
  const auto opens_by = [&](vfs::Dentry& dentry) {
    const auto [directory, name] = dentries.NameOf(dentry);
    reply = request.OpenBy(directory, name);
    return !request.IsNameChanged(reply.error);
  };
  const vfs::DentryRef latest = dentries.AliasOf(request.inode);
  std::array<vfs::Dentry*, 2> tried{&resolved, latest.get()};
  if (resolved.hash.load() == 0) std::ranges::reverse(tried);
  if (tried[0] == tried[1]) tried[1] = nullptr;
  for (vfs::Dentry* const dentry : tried) {
    if (dentry != nullptr && opens_by(*dentry)) return reply;
  }
  for (const vfs::DentryRef& other : dentries.DentriesOf(request.inode)) {
    if (!other) break;
    if (std::ranges::find(tried, other.get()) == tried.end() && opens_by(*other)) return reply;
  }
  const auto hidden = request.superblock.open_inodes.FindPlace(&request.inode);
  if (hidden.directory) reply = request.OpenBy(hidden.directory, hidden.name);
  if (request.IsNameChanged(reply.error)) reply.error = protocol::kStale;
  return reply;
}

// Opens a node by itself. What is no regular file is refused by the server, whose word is not one
// on opens by handle.
protocol::OpenReply OpenNode(const OpenRequest& request, vfs::Dentry& resolved, bool as_named) {
  const protocol::Protocol& protocol = *request.superblock.protocol;
  const bool is_regular = request.inode.type.load() == FileType::kRegular;
  if (!as_named && is_regular && protocol.can_open_by_handle()) {
    auto reply = request.Send({}, {});
    if (reply.error == protocol::kStale) nfs::MarkStale(request.superblock, request.inode);
    if (reply.error == kOk || protocol.can_open_by_handle()) return reply;
  }
  return OpenByAnyName(request, resolved);
}

// Close-to-open: what others wrote before they closed is seen (NAME-5), by a request since `begun`
// (may be null). Where the rights are not cached, the attributes come with them: `granted`.
std::errc CloseToOpen(nfs::Superblock& superblock, RefWalk& walk, const nfs::SendStamp* begun,
                      std::optional<uint32_t>& granted) {
  icache::Inode& inode = walk.inode();
  const Credential& key = walk.credential()->key();
  const bool is_asked = begun != nullptr && nfs::IsNewerThan(inode, *begun);
  if (superblock.options.nocto || is_asked) return nfs::RevalidateInode(superblock, inode, key);
  if (nfs::CachedAccess(superblock, inode, walk.credential())) {
    return nfs::RevalidateInode(superblock, inode, key, /*force=*/true);
  }
  const auto asked = nfs::AskAccess(superblock, inode, walk.credential(), /*ask_attributes=*/true);
  if (!asked) return asked.error();
  granted = *asked;
  return nfs::RevalidateInode(superblock, inode, key);  // a later reply may have overtaken it
}

// Takes in what the reply to an OPEN says of the file, and the delegation that came with it.
// `state`: of the same reply.
std::errc TakeIn(protocol::OpenReply& opened, nfs::Superblock& superblock, RefWalk& walk,
                 const std::shared_ptr<protocol::OpenState>& state, nfs::SendStamp stamp,
                 uint64_t epoch) {
  icache::Inode& inode = walk.inode();
  nfs::ReplyContext context{.epoch = epoch};
  if (opened.attributes) {
    const std::errc failed =
        nfs::UpdateAttributes(superblock, inode, *opened.attributes, stamp, &context);
    if (failed != kOk) return failed;
    // A store that is not needed would disturb walks of other threads.
    if (opened.granted &&
        nfs::CachedAccess(superblock, inode, walk.credential()) != opened.granted) {
      nfs::CacheAccess(superblock, inode, walk.credential(), *opened.granted, stamp.sent_at_ns,
                       context.epoch);
    }
  }
  if (opened.delegation) {
    nfs::KeepDelegation(superblock, inode, context, state, std::move(opened.delegation));
  }
  return kOk;
}

// Returns the server's state of a delegated file, for an open to read that needs no other. Null
// where that asks the server: also where the name may lead to another file by now.
std::shared_ptr<protocol::OpenState> ShareDelegated(nfs::Superblock& superblock, RefWalk& walk) {
  const uint64_t now_ns = rcu::CoarseNowNs();
  if (walk.force() || !nfs::IsDelegated(superblock, walk.inode(), now_ns)) return nullptr;
  const bool is_named =
      !walk.parent() ||
      nfs::IsNameValid(superblock, *walk.position(), &walk.inode(), *walk.parent().inode(), now_ns);
  auto state = is_named ? superblock.delegated_inodes.Share(walk.inode()) : nullptr;
  if (state != nullptr) superblock.Count(nfs::kDelegatedOpens);
  return state;
}

// The references that an open without an RPC takes inside the RCU section. Dropped outside of it.
struct RcuOpen {
  icache::InodeRef inode;
  std::optional<nfs::OpenContext> context;
};

// Completes a stateless open, or that of a delegated file, under RCU, without an RPC: OpenFound()
// without the dentry's reference. Whatever this cannot decide is left to that. The state of a
// delegated file is still to be shared.
RcuOutcome OpenRcu(nfs::Superblock& superblock, RcuWalk& walk, uint32_t rights, RcuOpen& taken) {
  constexpr RcuOutcome kDoubt{NeedRef::kComplete};
  icache::Inode& inode = walk.inode();
  if (inode.is_directory() || inode.type.load() == FileType::kSymlink) return kDoubt;
  if (superblock.protocol->sends_open() && !nfs::IsDelegated(superblock, inode, walk.now_ns())) {
    return kDoubt;
  }
  const nfs::RcuPermission permission = walk.Permission(rights);
  if (permission.need != NeedRef::kNone || !permission.granted) return kDoubt;
  taken.inode = icache::TryHold(inode);
  if (!taken.inode) return kDoubt;
  auto counted = nfs::OpenInode::TryRegister(superblock, taken.inode);
  if (!counted) return kDoubt;
  NFSWALK_SYNC_POINT("open:registered");
  taken.context.emplace(std::move(*counted), nullptr,
                        superblock.credentials.TakeReference(walk.credential()));
  // After it is counted: a removal that does not see it has set the flag or changed the dentry.
  if (!taken.context->credential || IsUnlinked(inode)) return kDoubt;
  return walk.ConfirmUsed();
}

}  // namespace

Result<std::unique_ptr<File>> Node::OpenFound(nfs::Superblock& superblock, RefWalk& walk,
                                              uint32_t rights, bool creates,
                                              const nfs::SendStamp* begun, bool as_named) {
  icache::Inode& inode = walk.inode();
  if (inode.is_directory()) return std::unexpected(std::errc::is_a_directory);
  if (inode.type.load() == FileType::kSymlink) {
    return std::unexpected(std::errc::too_many_symbolic_link_levels);
  }
  const bool sends_open = superblock.protocol->sends_open();
  // The root of an export may be a file, which has no name.
  if (sends_open && walk.position().get() == superblock.root.get() &&
      !superblock.protocol->can_open_by_handle()) {
    return std::unexpected(std::errc::operation_not_supported);
  }
  const Credential& key = walk.credential()->key();
  auto counted = nfs::OpenInode::Register(superblock, icache::Hold(inode));
  if (!counted) return std::unexpected(counted.error());
  NFSWALK_SYNC_POINT("open:registered");
  // A stamp is a store that all threads share. A stateless open sends nothing.
  const auto stamp = sends_open ? nfs::Stamp(superblock) : nfs::SendStamp();
  const uint64_t epoch = inode.access.epoch();
  const OpenRequest request{superblock, inode, rights, key};
  auto state = rights == kMayRead ? ShareDelegated(superblock, walk) : nullptr;
  const bool is_local = state != nullptr;
  auto opened = is_local        ? protocol::OpenReply()
                : !sends_open   ? request.Send({}, {})
                : walk.parent() ? request.OpenBy(walk.parent(), walk.last())
                                : OpenNode(request, *walk.position(), as_named);
  std::errc failed = opened.error;
  // The name has changed on the server: forced revalidation finds out where it leads.
  if (sends_open && !walk.force() && request.IsNameChanged(failed)) {
    return std::unexpected(protocol::kStale);
  }
  std::optional<uint32_t> granted = opened.granted;
  if (!is_local) {
    state = std::move(opened.state);
    nfs::FollowNames(state.get(), superblock, inode, walk.position());
  }
  if (failed == kOk) failed = TakeIn(opened, superblock, walk, state, stamp, epoch);
  if (failed == kOk) {
    failed = opened.attributes || is_local ? nfs::RevalidateInode(superblock, inode, key)
                                           : CloseToOpen(superblock, walk, begun, granted);
  }
  // A server may keep an unlinked file's handle valid while it has it open, for another client or
  // for a while (knfsd's nfsd_file cache).
  if (failed == kOk && (as_named || !walk.force()) && IsUnlinked(inode)) failed = protocol::kStale;
  if (failed == kOk && creates &&
      !nfs::MayCreateInSticky(superblock, walk.parent(), inode, key)) {
    failed = std::errc::permission_denied;
  }
  const uint32_t needed = rights & ~kTruncate;
  if (failed == kOk) {
    failed = granted ? nfs::CheckAccess(inode, *granted, needed)
                     : nfs::PermissionRef(superblock, inode, walk.credential(), needed);
  }
  if (failed != kOk) return std::unexpected(failed);
  if (needed != rights) {  // do_truncate() of open(2)
    const auto cut = data::SetAttributesOf(superblock, inode, {.size_bytes = 0}, key);
    if (!cut) return std::unexpected(cut.error());
  }
  return File::Make({std::move(*counted), std::move(state), walk.TakeCredential()}, superblock,
                    needed);
}

Result<std::unique_ptr<File>> Node::Open(std::string_view path, uint32_t rights,
                                         const Credential& credential, ResolveFlags flags) const {
  return OpenSince(nullptr, path, rights, credential, flags);
}

Result<std::unique_ptr<File>> Node::OpenSince(const nfs::SendStamp* begun, std::string_view path,
                                              uint32_t rights, const Credential& credential,
                                              ResolveFlags flags) const {
  WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kOpen, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  if (!AreOpenRights(rights)) return std::unexpected(std::errc::invalid_argument);
  if (request.flags.cached) return std::unexpected(CachedError(superblock_));
  request.flags.open = superblock_.protocol->sends_open() && !path.empty();
  const bool asks_server =
      superblock_.protocol->sends_open() || !superblock_.options.nocto || (rights & kTruncate) != 0;
  const bool has_delegations = superblock_.protocol->sends_open() && rights == kMayRead &&
                               superblock_.delegated_inodes.size() != 0;
  RcuOpen taken;
  // Once more, by the server, if the delegation has ended by the time that its state is shared.
  for (bool may_be_delegated = has_delegations;; may_be_delegated = false) {
    request.flags.may_be_delegated = may_be_delegated && !request.flags.dont_cache;
    const bool needs_reference = (asks_server && !may_be_delegated) || request.flags.dont_cache;
    Result<std::unique_ptr<File>> file;
    const std::errc error = walk::ResolveToReference(
        superblock_, request.start, request.path, credential, request.flags, &RefWalk::Resolve,
        [&](RefWalk& walk) {
          taken = {};
          file = OpenFound(superblock_, walk, rights, /*creates=*/false, begun, flags.as_named);
          return file ? kOk : file.error();
        },
        [&](RcuWalk& walk) -> RcuOutcome {
          if (needs_reference) return {NeedRef::kComplete};
          return OpenRcu(superblock_, walk, rights, taken);
        });
    if (error != kOk) return std::unexpected(error);
    if (!taken.context) return file;
    if (!may_be_delegated) break;
    taken.context->open = superblock_.delegated_inodes.Share(*taken.context->inode);
    if (taken.context->open != nullptr) {
      superblock_.Count(nfs::kDelegatedOpens);
      break;
    }
    taken = {};
  }
  try {
    return File::Make(std::move(*taken.context), superblock_, rights);
  } catch (const std::bad_alloc&) {
    return std::unexpected(std::errc::not_enough_memory);
  }
}

}  // namespace nfswalk
