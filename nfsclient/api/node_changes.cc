// Node's changes of the tree: resolve the parent, refuse what is no name, call nfs/change.h.

#include <new>
#include <type_traits>
#include <utility>

#include "nfsclient/api/file_state.h"
#include "nfsclient/api/walk_request.h"
#include "nfsclient/client.h"
#include "nfsclient/data/set_attributes.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/change.h"
#include "nfsclient/nfs/may_create_in_sticky.h"
#include "nfsclient/nfs/stale_name.h"
#include "nfsclient/superblock/open_file_names.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/path_walk.h"
#include "nfsclient/walk/walk.h"

namespace nfswalk {

using walk::RefWalk;
using walk::Revalidation;

namespace {

// RequestOf() a call that names what it changes: a node itself has no name here.
WalkRequest RequestOfName(const nfs::Superblock& superblock, const vfs::DentryRef* node,
                          PathCall call, std::string_view path, ResolveFlags flags = {}) {
  WalkRequest request = RequestOf(superblock, node, call, path, flags);
  if (flags.cached) request.error = CachedError(superblock);
  if (path.empty()) request.error = std::errc::no_such_file_or_directory;
  return request;
}

// Resolves the parent of the path and calls `change(walk)`. `if_no_name(kind)` returns the errno of
// the call for "/", "." and ".." as the last component (WALK-11).
template <class IfNoName, class Change>
std::errc WithParent(nfs::Superblock& superblock, const WalkRequest& request,
                     const Credential& credential, IfNoName&& if_no_name, Change&& change) {
  if (request.error != kOk) return request.error;
  return walk::ResolveToReference(superblock, request.start, request.path, credential,
                                  request.flags, &RefWalk::ResolveParent,
                                  [&](RefWalk& walk) -> std::errc {
                                    if (walk.last_kind() != RefWalk::LastKind::kName) {
                                      return if_no_name(walk.last_kind());
                                    }
                                    return change(walk);
                                  });
}

std::errc AlreadyThere(RefWalk::LastKind) { return std::errc::file_exists; }

// Creates by `create(walk)`, a Result.
template <class Create>
auto CreateAt(nfs::Superblock& superblock, const vfs::DentryRef* node, std::string_view path,
              bool directory, const Credential& credential, Create&& create) {
  std::invoke_result_t<Create&, RefWalk&> made;
  const auto create_in = [&](RefWalk& walk) -> std::errc {
    // "x/" is a directory, which open(2) and symlink(2) cannot make.
    if (walk.trailing_slash() && !directory) return std::errc::is_a_directory;
    made = create(walk);
    return made ? kOk : made.error();
  };
  const std::errc error =
      WithParent(superblock, RequestOfName(superblock, node, PathCall::kCreate, path), credential,
                 AlreadyThere, create_in);
  if (error != kOk) made = std::unexpected(error);
  return made;
}

// Preconditions: the walk is at the directory.
protocol::CreateMode HowToCreate(const nfs::Superblock& superblock, RefWalk& walk, bool exclusive) {
  return exclusive ? protocol::CreateMode::kGuarded
                   : nfs::CreateModeIn(superblock, *walk.position().inode());
}

// Tries of Create() when others create and remove the name at the same time.
constexpr int kCreateTries = 16;

// Whether the existing file that the walk led to can be the result, as for open(2) with O_CREAT:
// close-to-open, revalidated at the server unless the mount has nocto (NAME-5).
std::errc CheckExisting(nfs::Superblock& superblock, RefWalk& walk) {
  if (walk.inode().is_directory()) return std::errc::is_a_directory;
  const bool ask = !superblock.options.nocto || walk.force();
  const std::errc error =
      nfs::RevalidateInode(superblock, walk.inode(), walk.credential()->key(), ask);
  if (error != kOk) return error;
  Attributes attributes;
  nfs::CopyAttributes(walk.inode(), attributes);
  // The server may know the handle of a file whose name is gone.
  if (attributes.nlink == 0 && !walk.force()) return protocol::kStale;
  const bool may =
      nfs::MayCreateInSticky(superblock, walk.parent(), walk.inode(), walk.credential()->key());
  return may ? kOk : std::errc::permission_denied;
}

// open(2) with O_CREAT, without O_EXCL: `existing(walk)` where the name exists, `create(walk)`
// where it is missing, or, with `open` of the flags, not known; both answer a Result.
template <class Value, class Existing, class Create>
Result<Value> FindOrCreate(nfs::Superblock& superblock, WalkRequest request,
                           const Credential& credential, Existing&& existing, Create&& create) {
  if (request.error != kOk) return std::unexpected(request.error);
  Result<Value> result;
  std::errc refused{}, by_server{}, contradiction{};
  const auto find_or_create = [&](RefWalk& walk) {
    if (!walk.missing()) {
      result = existing(walk);
    } else if (refused != kOk) {
      result = std::unexpected(refused);
    } else {
      result = create(walk);
      by_server = result ? kOk : result.error();
    }
    return result ? kOk : result.error();
  };
  std::errc error = std::errc::file_exists;
  const protocol::CallDeadline deadline(superblock.protocol->NewDeadline());
  // If the name was missing and exists now, another client has created it meanwhile.
  for (int tries = kCreateTries; tries > 0 && error == std::errc::file_exists; --tries) {
    error = walk::ResolveToReference(superblock, request.start, request.path, credential,
                                     request.flags, &RefWalk::ResolveToCreate, find_or_create);
    request.flags.open = false;  // it is looked up
    const std::errc create_failed = std::exchange(by_server, kOk);
    // A server may refuse before it looks whether the name exists: looks it up (NAME-8).
    const bool refuses = create_failed == std::errc::permission_denied ||
                         create_failed == std::errc::read_only_file_system;
    if (refuses && refused == kOk) {
      refused = error;
      error = std::errc::file_exists;
    }
    // Once more, if another client has made another kind of file of the name (NAME-34).
    const bool contradicts =
        error == create_failed && error != protocol::kStale && nfs::ContradictsName(error, nullptr);
    if (contradicts && error != std::exchange(contradiction, error)) {
      error = std::errc::file_exists;
    }
  }
  if (error != kOk) return std::unexpected(error);
  return result;
}

}  // namespace

// Returns what `walk`, which is at the directory, has created. Without a node if another client, or
// the lack of memory, has taken the name away again.
Result<LookupResult> Node::FoundCreated(nfs::Superblock& superblock, RefWalk& walk,
                                        const Result<Attributes>& created) {
  if (!created) return std::unexpected(created.error());
  vfs::DentryRef& directory = walk.position();
  const vfs::PaddedName name(walk.last(), directory.get());
  const vfs::DentryRef at = superblock.dentries.Lookup(*directory, name.name());
  LookupResult found;
  try {
    const bool is_there = at && at.inode() != nullptr && at.inode()->fileid == created->fileid;
    if (is_there) found = FoundAt(superblock, directory, walk.last(), at);
  } catch (const std::bad_alloc&) {
  }
  found.attributes = *created;
  return found;
}

Result<LookupResult> Node::Create(std::string_view path, uint32_t mode, bool exclusive,
                                  const Credential& credential) const {
  const auto create = [&](RefWalk& walk) {
    return FoundCreated(
        superblock_, walk,
        nfs::CreateFile(superblock_, walk.position(), walk.last(),
                        HowToCreate(superblock_, walk, exclusive), mode, walk.credential()->key()));
  };
  if (exclusive) return CreateAt(superblock_, at_.get(), path, false, credential, create);
  const auto existing = [&](RefWalk& walk) -> Result<LookupResult> {
    const std::errc error = CheckExisting(superblock_, walk);
    if (error != kOk) return std::unexpected(error);
    return FoundAt(superblock_, walk.parent() ? walk.parent() : walk.position(), walk.last(),
                   walk.position());
  };
  return FindOrCreate<LookupResult>(superblock_,
                                    RequestOfName(superblock_, at_.get(), PathCall::kCreate, path),
                                    credential, existing, create);
}

// Preconditions: the walk is at the directory.
Result<OpenResult> Node::OpenCreated(nfs::Superblock& superblock, RefWalk& walk, uint32_t rights,
                                     uint32_t mode, bool exclusive) {
  const auto how = (rights & kModeAtOnce) != 0 ? protocol::CreateMode::kGuardedWithAttributes
                                               : HowToCreate(superblock, walk, exclusive);
  vfs::DentryRef& directory = walk.position();
  auto created = nfs::CreateOpenFile(superblock, directory, walk.last(), how, mode,
                                     (rights & kMayRead) != 0, (rights & kMayWrite) != 0,
                                     walk.credential()->key());
  if (!created) return std::unexpected(created.error());
  icache::Inode& inode = *created->inode;
  const bool may_have_data =
      created->attributes.size_bytes != 0 || nfs::HasValidityBits(inode, icache::kRetained);
  if ((rights & kTruncate) != 0 && may_have_data) {
    const auto cut =
        data::SetAttributesOf(superblock, inode, {.size_bytes = 0}, walk.credential()->key());
    if (!cut) return std::unexpected(cut.error());
    created->attributes = *cut;
  }
  OpenResult result;
  result.found = *FoundCreated(superblock, walk, created->attributes);
  if (result.found.node != nullptr) {
    nfs::FollowNames(created->state.get(), superblock, inode, *result.found.node->at_);
  }
  result.file =
      File::Make({std::move(created->inode), std::move(created->state), walk.TakeCredential()},
                 superblock, rights & ~(kTruncate | kModeAtOnce));
  return result;
}

Result<OpenResult> Node::CreateAndOpen(std::string_view path, uint32_t rights, uint32_t mode,
                                       bool exclusive, const Credential& credential,
                                       ResolveFlags flags) const {
  if (!AreOpenRights(exclusive ? rights & ~kModeAtOnce : rights)) {
    return std::unexpected(std::errc::invalid_argument);
  }
  const auto create = [&](RefWalk& walk) {
    return OpenCreated(superblock_, walk, rights, mode, exclusive);
  };
  if (exclusive) return CreateAt(superblock_, at_.get(), path, false, credential, create);
  const auto existing = [&](RefWalk& walk) -> Result<OpenResult> {
    auto file = OpenFound(superblock_, walk, rights, /*creates=*/true, /*begun=*/nullptr,
                          /*as_named=*/false);
    if (!file) return std::unexpected(file.error());
    LookupResult found = FoundAt(superblock_, walk.parent() ? walk.parent() : walk.position(),
                                 walk.last(), walk.position());
    found.attributes = (*file)->attributes();  // with what is written and not yet sent
    return OpenResult{std::move(*file), std::move(found)};
  };
  WalkRequest request = RequestOfName(superblock_, at_.get(), PathCall::kCreate, path, flags);
  request.flags.open = superblock_.protocol->sends_open();
  return FindOrCreate<OpenResult>(superblock_, request, credential, existing, create);
}

Result<LookupResult> Node::MakeDirectory(std::string_view path, uint32_t mode,
                                         const Credential& credential) const {
  return CreateAt(superblock_, at_.get(), path, true, credential, [&](RefWalk& walk) {
    return FoundCreated(superblock_, walk,
                        nfs::MakeDirectory(superblock_, walk.position(), walk.last(), mode,
                                           walk.credential()->key()));
  });
}

Result<LookupResult> Node::MakeSymlink(std::string_view target, std::string_view path,
                                       const Credential& credential) const {
  if (target.empty()) return std::unexpected(std::errc::no_such_file_or_directory);
  if (target.size() >= walk::PathBuffer::kPathMax) {
    return std::unexpected(std::errc::filename_too_long);
  }
  if (target.find('\0') != target.npos) return std::unexpected(std::errc::invalid_argument);
  return CreateAt(superblock_, at_.get(), path, false, credential, [&](RefWalk& walk) {
    return FoundCreated(superblock_, walk,
                        nfs::MakeSymlink(superblock_, walk.position(), walk.last(), target,
                                         walk.credential()->key()));
  });
}

Result<LookupResult> Node::MakeNode(std::string_view path, FileType type, uint32_t mode,
                                    Device device, const Credential& credential) const {
  const bool is_device = type == FileType::kCharacterDevice || type == FileType::kBlockDevice;
  if (!is_device && type != FileType::kFifo && type != FileType::kSocket) {
    return std::unexpected(std::errc::invalid_argument);
  }
  return CreateAt(superblock_, at_.get(), path, false, credential, [&](RefWalk& walk) {
    return FoundCreated(superblock_, walk,
                        nfs::MakeNode(superblock_, walk.position(), walk.last(), type, mode,
                                      is_device ? device : Device{}, walk.credential()->key()));
  });
}

std::errc Node::Link(std::string_view existing, const Node& to, std::string_view path,
                     const Credential& credential) const {
  // link(2) does not follow a symbolic link in the last component.
  if (&to.superblock_ != &superblock_) return std::errc::cross_device_link;
  const WalkRequest source_request =
      RequestOf(superblock_, at_.get(), PathCall::kLink, existing, {.no_follow = true});
  if (source_request.error != kOk) return source_request.error;
  const auto link_to = [&](RefWalk& source) -> std::errc {
    if (source.inode().is_directory()) return std::errc::operation_not_permitted;
    std::errc answer{};
    const std::errc error = WithParent(
        superblock_, RequestOfName(superblock_, to.at_.get(), PathCall::kLink, path), credential,
        AlreadyThere, [&](RefWalk& walk) {
          if (walk.trailing_slash()) return std::errc::no_such_file_or_directory;
          answer = nfs::MakeLink(superblock_, source.inode(), walk.position(), walk.last(),
                                 walk.credential()->key());
          return answer;
        });
    // The server may know a file yet that has lost its last name (linkat(2)). A node itself has none
    // to look up.
    const bool may_be_stale = answer == std::errc::no_such_file_or_directory && !source.force() &&
                              !existing.empty();
    return may_be_stale ? protocol::kStale : error;
  };
  return walk::ResolveToReference(superblock_, source_request.start, source_request.path,
                                  credential, source_request.flags, &RefWalk::Resolve, link_to);
}

// As do_renameat2(): both parents, then the change; after ESTALE once more, with both walks under
// forced revalidation.
std::errc Node::Rename(std::string_view from, const Node& to_node, std::string_view to,
                       const Credential& credential, uint32_t flags) const {
  if (flags != 0) return std::errc::invalid_argument;  // as nfs_rename()
  if (&to_node.superblock_ != &superblock_) return std::errc::cross_device_link;
  const WalkRequest source_request = RequestOfName(superblock_, at_.get(), PathCall::kRename, from);
  const WalkRequest target_request =
      RequestOfName(superblock_, to_node.at_.get(), PathCall::kRename, to);
  if (source_request.error != kOk) return source_request.error;
  walk::PathWalk from_walk(superblock_, source_request.start, source_request.path, credential,
                           source_request.flags);
  walk::PathWalk to_walk(superblock_, target_request.start, target_request.path, credential,
                         target_request.flags);
  const auto has_no_name = [](const RefWalk& walk) {
    return walk.last_kind() != RefWalk::LastKind::kName;
  };
  const auto rename = [&](Revalidation revalidation) {
    return from_walk.ToReference(revalidation, &RefWalk::ResolveParent, [&](RefWalk& source) {
      if (has_no_name(source)) return std::errc::device_or_resource_busy;
      if (target_request.error != kOk) return target_request.error;
      if (std::errc error = to_walk.Begin(); error != kOk) return error;
      return to_walk.ToReference(revalidation, &RefWalk::ResolveParent, [&](RefWalk& target) {
        if (has_no_name(target)) return std::errc::device_or_resource_busy;
        const bool directories_only = source.trailing_slash() || target.trailing_slash();
        return nfs::Rename(superblock_, source.position(), source.last(), target.position(),
                           target.last(), directories_only, source.credential()->key());
      });
    });
  };
  if (std::errc error = from_walk.Begin(); error != kOk) return error;
  const protocol::CallDeadline deadline(superblock_.protocol->NewDeadline());
  const std::errc error = rename(Revalidation::kAsNeeded);
  return error == protocol::kStale ? rename(Revalidation::kForced) : error;
}

std::errc Node::Unlink(std::string_view path, const Credential& credential,
                       ResolveFlags flags) const {
  return WithParent(
      superblock_, RequestOfName(superblock_, at_.get(), PathCall::kRemove, path, flags),
      credential,
      [](RefWalk::LastKind) { return std::errc::is_a_directory; },
      [&](RefWalk& walk) {
        if (walk.trailing_slash()) return std::errc::not_a_directory;
        return nfs::RemoveFile(superblock_, walk.position(), walk.last(), walk.credential()->key());
      });
}

std::errc Node::RemoveDirectory(std::string_view path, const Credential& credential,
                                ResolveFlags flags) const {
  return WithParent(
      superblock_, RequestOfName(superblock_, at_.get(), PathCall::kRemove, path, flags),
      credential,
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
        return nfs::RemoveDirectory(superblock_, walk.position(), walk.last(),
                                    walk.credential()->key());
      });
}

Result<Attributes> Node::SetAttributesOf(std::string_view path, const SetAttributes& attributes,
                                         const Credential& credential, ResolveFlags flags) const {
  const WalkRequest request =
      RequestOf(superblock_, at_.get(), PathCall::kSetAttributes, path, flags);
  if (request.error != kOk) return std::unexpected(request.error);
  if (attributes.size_bytes.value_or(0) > kFileBytesMax) {
    return std::unexpected(std::errc::invalid_argument);
  }
  if (flags.cached) return std::unexpected(CachedError(superblock_));
  Attributes now;
  std::errc error = walk::ResolveToReference(
      superblock_, request.start, request.path, credential, request.flags, &RefWalk::Resolve,
      [&](RefWalk& walk) -> std::errc {
        auto changed =
            data::SetAttributesOf(superblock_, walk.inode(), attributes, walk.credential()->key());
        if (!changed) return changed.error();
        now = *changed;
        return kOk;
      });
  if (error != kOk) return std::unexpected(error);
  return now;
}

}  // namespace nfswalk
