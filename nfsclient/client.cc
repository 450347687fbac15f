#include "nfsclient/client.h"

#include <algorithm>
#include <new>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readdir.h"
#include "nfsclient/nfs/readlink.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/open_file.h"
#include "nfsclient/walk/walk.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk {

using walk::RcuOutcome;
using walk::RcuWalk;
using walk::RefWalk;
using walk::WalkFlags;

namespace {

constexpr std::errc kOk{};

WalkFlags FlagsOf(const Superblock& superblock, ResolveFlags flags) {
  return {.follow_last = !flags.no_follow,
          .no_symlinks = flags.no_symlinks,
          .beneath = flags.beneath,
          .strict = flags.strict || superblock.options.contract == WalkContract::kStrict,
          .cached = flags.cached,
          .dont_cache = flags.dont_cache};
}

// A path, from the export's root or from a node.
struct Question {
  Superblock& superblock;
  const vfs::DentryRef* node;  // null: none
  std::string_view path;
  const Credential& credential;
  ResolveFlags flags;
};

// The walk that answers a question.
struct Route {
  walk::WalkStart start;
  std::string_view path;
  WalkFlags flags;
  std::errc error = kOk;
};

Route RouteFromNode(const Question& question) {
  const Superblock& superblock = question.superblock;
  const vfs::DentryRef& node = *question.node;
  const ResolveFlags flags = question.flags;
  const bool scoped = flags.beneath || flags.in_root;
  Route route{.start = {node, scoped ? node : superblock.root},
              .path = question.path,
              .flags = FlagsOf(superblock, flags)};
  if (route.path.empty()) {  // the node itself, as with AT_EMPTY_PATH: a walk of no steps
    route.path = "/";
    route.flags.beneath = false;
  } else if (route.path.front() == '/' && !flags.in_root) {
    return {.start = walk::AtRoot(superblock), .path = route.path, .flags = route.flags};
  } else if (!node.inode()->is_directory()) {
    route.error = std::errc::not_a_directory;
  }
  return route;
}

// openat2(2): two scopes contradict each other. Without a node in_root is how every walk works: the
// export's root is the only root there is.
[[gnu::always_inline]] inline Route RouteOf(const Question& question) {
  Route route = question.node != nullptr
                    ? RouteFromNode(question)
                    : Route{.start = walk::AtRoot(question.superblock),
                            .path = question.path,
                            .flags = FlagsOf(question.superblock, question.flags)};
  if (question.flags.beneath && question.flags.in_root) route.error = std::errc::invalid_argument;
  return route;
}

// Of a call that nothing can be cached for.
std::errc CachedAnswer(const Superblock& superblock) {
  return superblock.shut_down.load() ? std::errc::operation_canceled
                                     : std::errc::resource_unavailable_try_again;
}

bool IsDirectory(const icache::Inode& inode) {
  return inode.type.load(std::memory_order_relaxed) == protocol::FileType::kDirectory;
}

bool IsUnlinked(const icache::Inode& inode) {
  return (inode.flags.load(std::memory_order_relaxed) & icache::kUnlinked) != 0;
}

// What an open by name says that would not have been asked had the name led to a regular file.
bool NameChangedOnServer(std::errc error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::is_a_directory ||
         error == std::errc::not_a_directory || error == std::errc::invalid_argument ||
         error == std::errc::too_many_symbolic_link_levels;
}

// The calls, inlined where they are made: from the root nothing is asked about nodes.

[[gnu::always_inline]] inline Result<Attributes> Stat(const Question& question) {
  const Route route = RouteOf(question);
  if (route.error != kOk) return std::unexpected(route.error);
  Superblock& superblock = question.superblock;
  Result<Attributes> result;
  Attributes& attributes = *result;
  std::errc error = walk::Resolve(
      superblock, route.start, route.path, question.credential, route.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        if (!nfs::AttributesFresh(walk.inode(), walk.now_ns())) return {NeedRef::kGetattrRpc};
        NFSWALK_SYNC_POINT("stat:before-attributes");
        // This window lies inside the dentry's, so that both were true at one instant
        // (WALK-14).
        if (!nfs::CopyAttributesRcu(walk.inode(), attributes)) return {NeedRef::kChanged};
        return walk.ConfirmUsed();
      },
      [&](RefWalk& walk) {
        std::errc failed =
            nfs::Revalidate(superblock, walk.inode(), walk.credential()->key(), walk.force());
        if (failed == kOk) nfs::CopyAttributes(walk.inode(), attributes);
        return failed;
      });
  if (error != kOk) [[unlikely]]
    result = std::unexpected(error);
  return result;
}

[[gnu::always_inline]] inline std::errc Access(const Question& question, uint32_t mode) {
  const Route route = RouteOf(question);
  if (route.error != kOk) return route.error;
  if ((mode & ~(kMayRead | kMayWrite | kMayExecute)) != 0) return std::errc::invalid_argument;
  Superblock& superblock = question.superblock;
  return walk::Resolve(
      superblock, route.start, route.path, question.credential, route.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        if (mode == 0) return walk.ConfirmUsed();
        auto permission = walk.Permission(mode);
        if (permission.need != NeedRef::kNone) return {permission.need};
        return permission.granted ? walk.ConfirmUsed() : walk.Confirm(std::errc::permission_denied);
      },
      [&](RefWalk& walk) {
        return nfs::PermissionRef(superblock, walk.inode(), walk.credential(), mode);
      });
}

[[gnu::always_inline]] inline Result<size_t> ReadLink(const Question& question,
                                                      std::span<char> into) {
  Route route = RouteOf(question);
  if (route.error != kOk) return std::unexpected(route.error);
  if (into.empty()) return std::unexpected(std::errc::invalid_argument);
  Superblock& superblock = question.superblock;
  route.flags.follow_last = false;
  size_t count = 0;
  auto copy = [&](std::string_view text) {
    count = std::min(text.size(), into.size());
    std::copy_n(text.data(), count, into.data());
  };
  std::errc error = walk::Resolve(
      superblock, route.start, route.path, question.credential, route.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        if (walk.inode().type.load(std::memory_order_relaxed) != protocol::FileType::kSymlink) {
          return walk.Confirm(std::errc::invalid_argument);
        }
        nfs::RcuLink link = nfs::ReadLinkRcu(walk.inode(), walk.now_ns());
        if (link.need != NeedRef::kNone) return {link.need};
        copy(link.text);
        return walk.ConfirmUsed();
      },
      [&](RefWalk& walk) {
        auto text = nfs::ReadLinkRef(superblock, walk.inode(), walk.credential()->key());
        if (!text) return text.error();
        copy(*text);
        return kOk;
      });
  if (error != kOk) return std::unexpected(error);
  return count;
}

std::errc ReadDir(const Question& question,
                  const std::function<bool(const DirectoryEntry&)>& visit) {
  const Route route = RouteOf(question);
  if (route.error != kOk) return route.error;
  Superblock& superblock = question.superblock;
  if (route.flags.cached) return CachedAnswer(superblock);  // listings are not cached
  // The third pass would begin again, with entries that `visit` has seen.
  bool began = false, stale = false;
  const auto note_and_visit = [&](const DirectoryEntry& entry) {
    began = true;
    return visit(entry);
  };
  const std::errc error =
      walk::ResolveRef(superblock, route.start, route.path, question.credential, route.flags,
                       &RefWalk::Resolve, [&](RefWalk& walk) {
                         if (!IsDirectory(walk.inode())) return std::errc::not_a_directory;
                         std::errc failed = nfs::PermissionRef(superblock, walk.inode(),
                                                               walk.credential(), kMayRead);
                         if (failed != kOk) return failed;
                         failed = nfs::ReadDirectory(superblock, walk.position(),
                                                     walk.credential()->key(), note_and_visit);
                         stale = began && failed == protocol::kStale;
                         return stale ? kOk : failed;
                       });
  return stale ? protocol::kStale : error;
}

Result<std::unique_ptr<File>> Open(const Question& question, uint32_t mode) {
  Route route = RouteOf(question);
  if (route.error != kOk) return std::unexpected(route.error);
  if (mode == 0 || (mode & ~(kMayRead | kMayWrite)) != 0) {
    return std::unexpected(std::errc::invalid_argument);
  }
  Superblock& superblock = question.superblock;
  if (route.flags.cached) return std::unexpected(CachedAnswer(superblock));
  std::unique_ptr<File> file;
  route.flags.open = superblock.protocol->opens_by_name();
  std::errc error = walk::ResolveRef(
      superblock, route.start, route.path, question.credential, route.flags, &RefWalk::Resolve,
      [&](RefWalk& walk) -> std::errc {
        icache::Inode& inode = walk.inode();
        if (IsDirectory(inode)) return std::errc::is_a_directory;
        auto type = inode.type.load(std::memory_order_relaxed);
        if (type == protocol::FileType::kSymlink) return std::errc::too_many_symbolic_link_levels;
        const Credential& key = walk.credential()->key();
        auto stamp = nfs::Stamp(superblock);
        auto opened =
            superblock.protocol->Open(walk.parent().inode()->handle(), walk.last(), inode.handle(),
                                      (mode & kMayRead) != 0, (mode & kMayWrite) != 0, key);
        std::errc failed = opened.error;
        // The name leads elsewhere, or nowhere, by now: the third pass finds out where to.
        if (!walk.force() && NameChangedOnServer(failed)) return protocol::kStale;
        if (failed == kOk && opened.attributes) {
          failed = nfs::UpdateAttributes(superblock, inode, *opened.attributes, stamp);
        }
        // Close-to-open: what others wrote before they closed is seen (NAME-5).
        const bool ask = !superblock.options.nocto && !opened.attributes;
        if (failed == kOk) failed = nfs::Revalidate(superblock, inode, key, ask);
        // A server may know a file by its handle for as long as somebody has it open. Its name is
        // gone, or another file's.
        if (failed == kOk && !walk.force() && IsUnlinked(inode)) return protocol::kStale;
        if (failed == kOk) {
          failed = nfs::PermissionRef(superblock, inode, walk.credential(), mode);
        }
        if (failed == kOk) {
          file = std::make_unique<OpenFile>(superblock, icache::InodeCache::Hold(inode),
                                            std::move(opened.state), walk.credential(), mode);
        }
        return failed;
      });
  if (error != kOk) return std::unexpected(error);
  return file;
}

Result<std::unique_ptr<Node>> ResolveToNode(const Question& question);

class PinnedNode : public Node {
 public:
  PinnedNode(Superblock& superblock, vfs::DentryRef dentry)
      : superblock_(superblock), dentry_(std::move(dentry)) {}

  Result<Attributes> Stat(std::string_view path, const Credential& credential,
                          ResolveFlags flags) const override {
    return nfswalk::Stat(Ask(path, credential, flags));
  }
  std::errc Access(std::string_view path, uint32_t mode, const Credential& credential,
                   ResolveFlags flags) const override {
    return nfswalk::Access(Ask(path, credential, flags), mode);
  }
  Result<size_t> ReadLink(std::string_view path, std::span<char> into, const Credential& credential,
                          ResolveFlags flags) const override {
    return nfswalk::ReadLink(Ask(path, credential, flags), into);
  }
  std::errc ReadDir(std::string_view path, const Credential& credential,
                    const std::function<bool(const DirectoryEntry&)>& visit,
                    ResolveFlags flags) const override {
    return nfswalk::ReadDir(Ask(path, credential, flags), visit);
  }
  Result<std::unique_ptr<File>> Open(std::string_view path, uint32_t mode,
                                     const Credential& credential,
                                     ResolveFlags flags) const override {
    // Version 4.0 opens by name alone (RFC 7530 16.16), and a node need not have one any more.
    if (path.empty()) return std::unexpected(std::errc::no_such_file_or_directory);
    return nfswalk::Open(Ask(path, credential, flags), mode);
  }
  Result<std::unique_ptr<Node>> Resolve(std::string_view path, const Credential& credential,
                                        ResolveFlags flags) const override {
    return ResolveToNode(Ask(path, credential, flags));
  }

 private:
  Question Ask(std::string_view path, const Credential& credential, ResolveFlags flags) const {
    return {superblock_, &dentry_, path, credential, flags};
  }

  Superblock& superblock_;
  const vfs::DentryRef dentry_;
};

Result<std::unique_ptr<Node>> ResolveToNode(const Question& question) try {
  const Route route = RouteOf(question);
  if (route.error != kOk) return std::unexpected(route.error);
  Superblock& superblock = question.superblock;
  vfs::DentryRef found, unwanted;  // dropped outside of the RCU section
  const std::errc error = walk::Resolve(
      superblock, route.start, route.path, question.credential, route.flags,
      [&](RcuWalk& walk) -> RcuOutcome {
        found = walk.Unlazy(unwanted);
        return found ? walk.Confirm() : RcuOutcome{NeedRef::kChanged};
      },
      [&](RefWalk& walk) {
        found = walk.position().Copy();
        return kOk;
      });
  if (error != kOk) return std::unexpected(error);
  return std::make_unique<PinnedNode>(superblock, std::move(found));
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

}  // namespace

Result<Attributes> Client::Stat(std::string_view path, const Credential& credential,
                                ResolveFlags flags) {
  return nfswalk::Stat({*superblock_, nullptr, path, credential, flags});
}

std::errc Client::Access(std::string_view path, uint32_t mode, const Credential& credential,
                         ResolveFlags flags) {
  return nfswalk::Access({*superblock_, nullptr, path, credential, flags}, mode);
}

Result<size_t> Client::ReadLink(std::string_view path, std::span<char> into,
                                const Credential& credential, ResolveFlags flags) {
  return nfswalk::ReadLink({*superblock_, nullptr, path, credential, flags}, into);
}

std::errc Client::ReadDir(std::string_view path, const Credential& credential,
                          const std::function<bool(const DirectoryEntry&)>& visit,
                          ResolveFlags flags) {
  return nfswalk::ReadDir({*superblock_, nullptr, path, credential, flags}, visit);
}

Result<std::unique_ptr<File>> Client::Open(std::string_view path, uint32_t mode,
                                           const Credential& credential, ResolveFlags flags) {
  return nfswalk::Open({*superblock_, nullptr, path, credential, flags}, mode);
}

Result<std::unique_ptr<Node>> Client::Resolve(std::string_view path, const Credential& credential,
                                              ResolveFlags flags) {
  return ResolveToNode({*superblock_, nullptr, path, credential, flags});
}

}  // namespace nfswalk
