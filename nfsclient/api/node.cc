// The calls of Node: each resolves a path and finishes at what it leads to, inside the RCU section
// where that is possible.

#include <algorithm>
#include <new>
#include <utility>

#include "nfsclient/api/stat_completion.h"
#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readdir.h"
#include "nfsclient/nfs/readlink.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/walk.h"
#include "rcu/coarse_clock.h"
#include "rcu/fork.h"
#include "rcu/sync_point.h"

namespace nfswalk {

using walk::RcuOutcome;
using walk::RcuWalk;
using walk::RefWalk;

namespace {

bool IsDirectory(const icache::Inode& inode) {
  return inode.type.load(std::memory_order_relaxed) == protocol::FileType::kDirectory;
}

// Inlined twice: the instance for the export's root has no branch on `node`.
[[gnu::always_inline]] inline Result<Attributes> StatFrom(nfs::Superblock& superblock,
                                                          const vfs::DentryRef* node,
                                                          std::string_view path,
                                                          const Credential& credential,
                                                          ResolveFlags flags) {
  const WalkRequest request = RequestOf(superblock, node, PathCall::kStat, path, flags);
  Result<Attributes> result;  // all that is returned, so that the attributes are written in place
  if (request.error != kOk) [[unlikely]] {
    result = std::unexpected(request.error);
    return result;
  }
  Attributes& attributes = *result;
  std::errc error = walk::Resolve(
      superblock, request.start, request.path, credential, request.flags,
      [&](RcuWalk& walk) { return StatRcu(superblock, walk, attributes); },
      [&](RefWalk& walk) {
        const std::errc failed = StatRef(superblock, walk);
        if (failed == kOk) nfs::CopyAttributes(walk.inode(), attributes);
        return failed;
      });
  if (error != kOk) [[unlikely]]
    result = std::unexpected(error);
  return result;
}

}  // namespace

Node::Node(nfs::Superblock& superblock, std::unique_ptr<const vfs::DentryRef> at)
    : superblock_(superblock), at_(std::move(at)) {}

Node::~Node() {
  if (rcu::InForkedChild()) (void)at_.release();
}

Result<Attributes> Node::Stat(std::string_view path, const Credential& credential,
                              ResolveFlags flags) const {
  return at_ == nullptr ? StatFrom(superblock_, nullptr, path, credential, flags)
                        : StatFrom(superblock_, at_.get(), path, credential, flags);
}

std::errc Node::Access(std::string_view path, uint32_t rights, const Credential& credential,
                       ResolveFlags flags) const {
  const WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kAccess, path, flags);
  if (request.error != kOk) return request.error;
  if ((rights & ~(kMayRead | kMayWrite | kMayExecute)) != 0) return std::errc::invalid_argument;
  return walk::Resolve(
      superblock_, request.start, request.path, credential, request.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        if (rights == 0) return walk.ConfirmUsed();
        auto permission = walk.Permission(rights);
        if (permission.need != NeedRef::kNone) return {permission.need};
        return permission.granted ? walk.ConfirmUsed() : walk.Confirm(std::errc::permission_denied);
      },
      [&](RefWalk& walk) {
        if (rights != 0) walk.RefreshAhead();
        return nfs::PermissionRef(superblock_, walk.inode(), walk.credential(), rights);
      });
}

Result<size_t> Node::ReadLink(std::string_view path, std::span<char> into,
                              const Credential& credential, ResolveFlags flags) const {
  WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kReadLink, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  if (into.empty()) return std::unexpected(std::errc::invalid_argument);
  request.flags.follow_last = false;
  size_t count = 0;
  auto copy = [&](std::string_view text) {
    count = std::min(text.size(), into.size());
    std::copy_n(text.data(), count, into.data());
  };
  std::errc error = walk::Resolve(
      superblock_, request.start, request.path, credential, request.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        if (walk.inode().type.load(std::memory_order_relaxed) != protocol::FileType::kSymlink) {
          return walk.Confirm(std::errc::invalid_argument);
        }
        nfs::RcuLink link = nfs::ReadLinkRcu(superblock_, walk.inode(), walk.now_ns());
        if (link.need != NeedRef::kNone) return {link.need};
        copy(link.text);
        return walk.ConfirmUsed();
      },
      [&](RefWalk& walk) {
        walk.RefreshAhead();
        auto text = nfs::ReadLinkRef(superblock_, walk.inode(), walk.credential()->key());
        if (!text) return text.error();
        copy(*text);
        return kOk;
      });
  if (error != kOk) return std::unexpected(error);
  return count;
}

Result<FileSystemSpace> Node::GetSpace(std::string_view path, const Credential& credential,
                                       ResolveFlags flags) const {
  const WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kStat, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  if (request.flags.cached) return std::unexpected(CachedError(superblock_));
  FileSystemSpace space;
  const std::errc error =
      walk::ResolveToReference(superblock_, request.start, request.path, credential, request.flags,
                               &RefWalk::Resolve, [&](RefWalk& walk) {
                                 const auto reply = superblock_.protocol->GetSpace(
                                     walk.inode().handle(), walk.credential()->key());
                                 if (reply.error == protocol::kStale)
                                   nfs::MarkStale(superblock_, walk.inode());
                                 space = reply.space;
                                 return reply.error;
                               });
  if (error != kOk) return std::unexpected(error);
  return space;
}

std::errc Node::ReadDir(std::string_view path, const Credential& credential,
                        const std::function<bool(const DirectoryEntry&)>& visit,
                        ResolveFlags flags) const {
  const WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kReadDir, path, flags);
  if (request.error != kOk) return request.error;
  if (request.flags.cached) return CachedError(superblock_);  // listings are not cached
  // After ESTALE the forced revalidation would visit entries again.
  bool began = false, stale = false;
  const auto note_and_visit = [&](const DirectoryEntry& entry) {
    began = true;
    return visit(entry);
  };
  const std::errc error = walk::ResolveToReference(
      superblock_, request.start, request.path, credential, request.flags, &RefWalk::Resolve,
      [&](RefWalk& walk) {
        if (!IsDirectory(walk.inode())) return std::errc::not_a_directory;
        std::errc failed =
            nfs::PermissionRef(superblock_, walk.inode(), walk.credential(), kMayRead);
        if (failed != kOk) return failed;
        protocol::CallDeadline deadline(protocol::CallDeadline::Current());
        failed = nfs::ReadDirectory(superblock_, walk.position(), walk.credential()->key(),
                                    note_and_visit, &deadline);
        stale = began && failed == protocol::kStale;
        return stale ? kOk : failed;
      });
  return stale ? protocol::kStale : error;
}

Result<std::unique_ptr<Node>> Node::Resolve(std::string_view path, const Credential& credential,
                                            ResolveFlags flags) const try {
  const WalkRequest request = RequestOf(superblock_, at_.get(), PathCall::kResolve, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  // A reference must not be dropped inside the RCU section: `by_rcu` is assigned once, by the last
  // try.
  vfs::DentryRef by_rcu, by_ref;
  const std::errc error = walk::Resolve(
      superblock_, request.start, request.path, credential, request.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        const RcuOutcome outcome = walk.Confirm();
        if (!outcome.ok()) return outcome;
        by_rcu = walk.Reference();
        return by_rcu ? outcome : RcuOutcome{NeedRef::kChanged};
      },
      [&](RefWalk& walk) {
        by_ref = walk.position().Copy();
        return kOk;
      });
  if (error != kOk) return std::unexpected(error);
  auto at = std::make_unique<const vfs::DentryRef>(std::move(by_rcu ? by_rcu : by_ref));
  return std::unique_ptr<Node>(new Node(superblock_, std::move(at)));
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

}  // namespace nfswalk
