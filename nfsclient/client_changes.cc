// The changing operations of Client: resolve the directory, refuse what has no name, hand over to
// nfs/change.

#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/change.h"
#include "nfsclient/nfs/superblock.h"
#include "nfsclient/walk/walk.h"

namespace nfswalk {

using walk::RefWalk;
using walk::WalkFlags;

namespace {

constexpr std::errc kOk{};

// Resolves all of `path` but its last name and calls `change(walk)`. `if_no_name` answers the errno
// for
// "/", "." and ".." in last place, which differs by call (WALK-11).
template <class IfNoName, class Change>
std::errc WithParent(Superblock& superblock, std::string_view path, const Credential& credential,
                     IfNoName&& if_no_name, Change&& change) {
  return walk::ResolveRef(superblock, path, credential, WalkFlags{}, &RefWalk::ResolveParent,
                          [&](RefWalk& walk) -> std::errc {
                            if (walk.last_kind() != RefWalk::LastKind::kName) {
                              return if_no_name(walk.last_kind());
                            }
                            return change(walk);
                          });
}

std::errc AlreadyThere(RefWalk::LastKind) { return std::errc::file_exists; }

// Creates by `create(directory, name, credential)`.
template <class Create>
Result<Attributes> CreateAt(Superblock& superblock, std::string_view path, bool directory,
                            const Credential& credential, Create&& create) {
  Attributes attributes;
  std::errc error =
      WithParent(superblock, path, credential, AlreadyThere, [&](RefWalk& walk) -> std::errc {
        // "x/" names a directory, which open(2) and symlink(2) cannot make.
        if (walk.trailing_slash() && !directory) return std::errc::is_a_directory;
        auto made = create(walk.position(), walk.last(), walk.credential()->key());
        if (!made) return made.error();
        attributes = *made;
        return kOk;
      });
  if (error != kOk) return std::unexpected(error);
  return attributes;
}

// What has the name already, as open(2) with O_CREAT finds it: unless the mount says nocto, the
// server is asked whether it is still there (NAME-5).
Result<Attributes> Existing(Superblock& superblock, std::string_view path,
                            const Credential& credential) {
  Attributes attributes;
  std::errc error = walk::ResolveRef(
      superblock, path, credential, WalkFlags{}, &RefWalk::Resolve, [&](RefWalk& walk) {
        auto asked = nfs::Revalidate(superblock, walk.inode(), walk.credential()->key(),
                                     !superblock.options.nocto || walk.force());
        if (asked != kOk) return asked;
        nfs::CopyAttributes(walk.inode(), attributes);
        // The server may know a file by its handle after its name has gone.
        return attributes.nlink == 0 && !walk.force() ? protocol::kStale : kOk;
      });
  if (error != kOk) return std::unexpected(error);
  return attributes;
}

}  // namespace

Result<Attributes> Client::Create(std::string_view path, uint32_t mode, bool exclusive,
                                  const Credential& credential) {
  // Without `exclusive` an existing file will do, also one that a link leads to.
  if (!exclusive) {
    auto existing = Existing(*superblock_, path, credential);
    if (existing) {
      if (existing->type == protocol::FileType::kDirectory) {
        return std::unexpected(std::errc::is_a_directory);
      }
      return existing;
    }
    if (existing.error() != std::errc::no_such_file_or_directory) return existing;
  }
  auto created = CreateAt(*superblock_, path, false, credential,
                          [&](auto& directory, const std::string& name, const Credential& who) {
                            return nfs::CreateFile(*superblock_, directory, name, mode, who);
                          });
  // Another client was faster.
  if (!exclusive && !created && created.error() == std::errc::file_exists) {
    return Existing(*superblock_, path, credential);
  }
  return created;
}

Result<Attributes> Client::MakeDirectory(std::string_view path, uint32_t mode,
                                         const Credential& credential) {
  return CreateAt(*superblock_, path, true, credential,
                  [&](auto& directory, const std::string& name, const Credential& who) {
                    return nfs::MakeDirectory(*superblock_, directory, name, mode, who);
                  });
}

Result<Attributes> Client::MakeSymlink(std::string_view target, std::string_view path,
                                       const Credential& credential) {
  if (target.empty()) return std::unexpected(std::errc::no_such_file_or_directory);
  if (target.size() >= walk::PathBuffer::kPathMax) {
    return std::unexpected(std::errc::filename_too_long);
  }
  if (target.find('\0') != target.npos) return std::unexpected(std::errc::invalid_argument);
  return CreateAt(*superblock_, path, false, credential,
                  [&](auto& directory, const std::string& name, const Credential& who) {
                    return nfs::MakeSymlink(*superblock_, directory, name, target, who);
                  });
}

std::errc Client::Link(std::string_view existing, std::string_view path,
                       const Credential& credential) {
  Superblock& superblock = *superblock_;
  const auto link_to = [&](RefWalk& source) -> std::errc {
    if (source.inode().is_directory()) return std::errc::operation_not_permitted;
    return WithParent(superblock, path, credential, AlreadyThere, [&](RefWalk& walk) {
      if (walk.trailing_slash()) return std::errc::no_such_file_or_directory;
      return nfs::MakeLink(superblock, source.inode(), walk.position(), walk.last(),
                           walk.credential()->key());
    });
  };
  // link(2) does not follow a link in last place.
  return walk::ResolveRef(superblock, existing, credential, WalkFlags{.follow_last = false},
                          &RefWalk::Resolve, link_to);
}

std::errc Client::Rename(std::string_view from, std::string_view to, const Credential& credential) {
  Superblock& superblock = *superblock_;
  auto busy = [](RefWalk::LastKind) { return std::errc::device_or_resource_busy; };
  return WithParent(superblock, from, credential, busy, [&](RefWalk& source) {
    return WithParent(superblock, to, credential, busy, [&](RefWalk& target) -> std::errc {
      // A trailing slash, which the server never sees, says that a directory is meant.
      if (source.trailing_slash() || target.trailing_slash()) {
        auto attributes = Stat(from, credential, {.no_follow = true});
        if (!attributes) return attributes.error();
        if (attributes->type != protocol::FileType::kDirectory) return std::errc::not_a_directory;
      }
      return nfs::Rename(superblock, source.position(), source.last(), target.position(),
                         target.last(), source.credential()->key());
    });
  });
}

std::errc Client::Unlink(std::string_view path, const Credential& credential) {
  return WithParent(
      *superblock_, path, credential, [](RefWalk::LastKind) { return std::errc::is_a_directory; },
      [&](RefWalk& walk) {
        if (walk.trailing_slash()) return std::errc::not_a_directory;
        return nfs::RemoveFile(*superblock_, walk.position(), walk.last(),
                               walk.credential()->key());
      });
}

std::errc Client::RemoveDirectory(std::string_view path, const Credential& credential) {
  return WithParent(
      *superblock_, path, credential,
      [](RefWalk::LastKind kind) {
        switch (kind) {
          case RefWalk::LastKind::kDot:
            return std::errc::invalid_argument;
          case RefWalk::LastKind::kDotDot:
            return std::errc::directory_not_empty;
          default:
            return std::errc::device_or_resource_busy;
        }
      },
      [&](RefWalk& walk) {
        return nfs::RemoveDirectory(*superblock_, walk.position(), walk.last(),
                                    walk.credential()->key());
      });
}

Result<Attributes> Client::SetAttributesOf(std::string_view path, const SetAttributes& attributes,
                                           const Credential& credential, ResolveFlags flags) {
  Attributes now;
  std::errc error =
      walk::ResolveRef(*superblock_, path, credential,
                       WalkFlags{.follow_last = !flags.no_follow,
                                 .no_symlinks = flags.no_symlinks,
                                 .beneath = flags.beneath},
                       &RefWalk::Resolve, [&](RefWalk& walk) -> std::errc {
                         auto changed = nfs::ChangeAttributes(*superblock_, walk.inode(),
                                                              attributes, walk.credential()->key());
                         if (!changed) return changed.error();
                         now = *changed;
                         return kOk;
                       });
  if (error != kOk) return std::unexpected(error);
  return now;
}

}  // namespace nfswalk
