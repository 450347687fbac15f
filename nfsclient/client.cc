#include "nfsclient/client.h"

#include <algorithm>
#include <new>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/change.h"
#include "nfsclient/nfs/lookup.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readdir.h"
#include "nfsclient/nfs/readlink.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/open_file.h"
#include "nfsclient/protocol/nfs3.h"
#include "nfsclient/protocol/nfs4.h"
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

// openat2(2): two scopes contradict each other. in_root is how every walk here works: the export's
// root is the only root there is.
std::errc CheckFlags(ResolveFlags flags) {
  return flags.beneath && flags.in_root ? std::errc::invalid_argument : kOk;
}

bool IsDirectory(const vfs::Inode& inode) {
  return inode.type.load(std::memory_order_relaxed) == protocol::FileType::kDirectory;
}

bool IsUnlinked(const vfs::Inode& inode) {
  return (inode.flags.load(std::memory_order_relaxed) & vfs::kUnlinked) != 0;
}

// What an open by name says that would not have been asked had the name led to a regular file.
bool SaysOtherFile(std::errc error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::is_a_directory ||
         error == std::errc::not_a_directory || error == std::errc::invalid_argument ||
         error == std::errc::too_many_symbolic_link_levels;
}

MountError RootError(std::errc error, const MountOptions& options) {
  return {error, "cannot read the root of " + options.server.host + ":" +
                     options.server.export_path + ": " +
                     std::make_error_condition(error).message() +
                     "; does the server still export it?"};
}

// So short that the text needs no memory of its own.
MountError OutOfMemory() { return {std::errc::not_enough_memory, "out of memory"}; }

}  // namespace

Client::Client(std::unique_ptr<Superblock> superblock) : superblock_(std::move(superblock)) {}
Client::~Client() = default;

std::expected<std::unique_ptr<Client>, MountError> Client::Mount(const MountOptions& options) try {
  auto protocol = options.server.version == 4
                      ? protocol::Nfs4::ConnectNfs4(options.server, options.transport)
                      : protocol::Nfs3::ConnectNfs3(options.server, options.transport);
  if (!protocol)
    return std::unexpected(MountError{protocol.error().error, protocol.error().message});
  return MountOver(std::move(*protocol), options);
} catch (const std::bad_alloc&) {
  return std::unexpected(OutOfMemory());
}

std::expected<std::unique_ptr<Client>, MountError> Client::MountOver(
    std::unique_ptr<protocol::Protocol> protocol, const MountOptions& options) try {
  auto created = Superblock::Create(std::move(protocol), options);
  if (!created) {
    return std::unexpected(MountError{std::errc::invalid_argument, std::move(created.error())});
  }
  std::unique_ptr<Superblock> superblock = std::move(*created);
  auto stamp = nfs::Stamp(*superblock);
  auto reply = superblock->protocol->GetRoot(Credential::OfProcess());
  if (reply.error != kOk) return std::unexpected(RootError(reply.error, options));
  superblock->limits = reply.limits;
  auto& name_max = superblock->limits.name_bytes_max;
  name_max = name_max == 0 ? vfs::kNameMax : std::min<uint32_t>(name_max, vfs::kNameMax);
  auto inode = nfs::InodeOf(*superblock, reply.handle, reply.attributes, stamp);
  if (!inode) {
    return std::unexpected(inode.error() == std::errc::not_enough_memory
                               ? OutOfMemory()
                               : RootError(inode.error(), options));
  }
  superblock->root = superblock->dentries.MakeRoot(std::move(*inode));
  if (!superblock->root) return std::unexpected(OutOfMemory());
  return std::unique_ptr<Client>(new Client(std::move(superblock)));
} catch (const std::bad_alloc&) {
  return std::unexpected(OutOfMemory());
}

Result<Attributes> Client::Stat(std::string_view path, const Credential& credential,
                                ResolveFlags flags) {
  if (auto error = CheckFlags(flags); error != kOk) return std::unexpected(error);
  Superblock& superblock = *superblock_;
  Result<Attributes> result;
  Attributes& attributes = *result;
  std::errc error = walk::Resolve(
      superblock, path, credential, FlagsOf(superblock, flags),
      [&](RcuWalk& walk) -> RcuOutcome {
        if (!nfs::AttributesFresh(walk.inode(), walk.now_ns())) return {NeedRef::kGetattrRpc};
        NFSWALK_SYNC_POINT("stat:before-attributes");
        // This window lies inside the dentry's, so that both were true at one instant
        // (vfs_walk 6.2).
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

std::errc Client::Access(std::string_view path, uint32_t mode, const Credential& credential,
                         ResolveFlags flags) {
  if (auto error = CheckFlags(flags); error != kOk) return error;
  if ((mode & ~(kMayRead | kMayWrite | kMayExecute)) != 0) return std::errc::invalid_argument;
  Superblock& superblock = *superblock_;
  return walk::Resolve(
      superblock, path, credential, FlagsOf(superblock, flags),
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

Result<size_t> Client::ReadLink(std::string_view path, std::span<char> into,
                                const Credential& credential, ResolveFlags flags) {
  if (auto error = CheckFlags(flags); error != kOk) return std::unexpected(error);
  if (into.empty()) return std::unexpected(std::errc::invalid_argument);
  Superblock& superblock = *superblock_;
  flags.no_follow = true;
  size_t count = 0;
  auto copy = [&](std::string_view text) {
    count = std::min(text.size(), into.size());
    std::copy_n(text.data(), count, into.data());
  };
  std::errc error = walk::Resolve(
      superblock, path, credential, FlagsOf(superblock, flags),
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

std::errc Client::ReadDir(std::string_view path, const Credential& credential,
                          const std::function<bool(const DirectoryEntry&)>& visit,
                          ResolveFlags flags) {
  if (auto error = CheckFlags(flags); error != kOk) return error;
  if (flags.cached) return std::errc::resource_unavailable_try_again;  // listings are not cached
  Superblock& superblock = *superblock_;
  // The third pass would begin again, with entries that `visit` has seen.
  bool began = false, stale = false;
  const auto note_and_visit = [&](const DirectoryEntry& entry) {
    began = true;
    return visit(entry);
  };
  const std::errc error =
      walk::ResolveRef(superblock, path, credential, FlagsOf(superblock, flags), &RefWalk::Resolve,
                       [&](RefWalk& walk) {
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

Result<std::unique_ptr<File>> Client::Open(std::string_view path, uint32_t mode,
                                           const Credential& credential, ResolveFlags flags) {
  if (auto error = CheckFlags(flags); error != kOk) return std::unexpected(error);
  if (mode == 0 || (mode & ~(kMayRead | kMayWrite)) != 0) {
    return std::unexpected(std::errc::invalid_argument);
  }
  if (flags.cached) return std::unexpected(std::errc::resource_unavailable_try_again);
  Superblock& superblock = *superblock_;
  std::unique_ptr<File> file;
  WalkFlags walk_flags = FlagsOf(superblock, flags);
  walk_flags.open = superblock.protocol->opens_by_name();
  std::errc error = walk::ResolveRef(
      superblock, path, credential, walk_flags, &RefWalk::Resolve, [&](RefWalk& walk) -> std::errc {
        vfs::Inode& inode = walk.inode();
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
        if (!walk.force() && SaysOtherFile(failed)) return protocol::kStale;
        if (failed == kOk && opened.attributes) {
          failed = nfs::UpdateAttributes(superblock, inode, *opened.attributes, stamp);
        }
        // Close-to-open: what others wrote before they closed is seen (nfs_semantics 1.3).
        const bool ask = !superblock.options.nocto && !opened.attributes;
        if (failed == kOk) failed = nfs::Revalidate(superblock, inode, key, ask);
        // A server may know a file by its handle for as long as somebody has it open. Its name is
        // gone, or another file's.
        if (failed == kOk && !walk.force() && IsUnlinked(inode)) return protocol::kStale;
        if (failed == kOk) {
          failed = nfs::PermissionRef(superblock, inode, walk.credential(), mode);
        }
        if (failed == kOk) {
          file = std::make_unique<OpenFile>(superblock, vfs::InodeCache::Hold(inode),
                                            std::move(opened.state), walk.credential(), mode);
        }
        return failed;
      });
  if (error != kOk) return std::unexpected(error);
  return file;
}

void Client::DropCaches() { superblock_->DropCaches(); }
void Client::InvalidateCaches() { nfs::InvalidateAll(*superblock_); }

Stats Client::stats() const { return superblock_->GetStats(); }

}  // namespace nfswalk
