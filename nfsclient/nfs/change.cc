#include "nfsclient/nfs/change.h"

#include <new>
#include <optional>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/nfs/lookup.h"
#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/silly_rename.h"
#include "nfsclient/nfs/splice.h"
#include "nfsclient/nfs/stale_name.h"
#include "nfsclient/protocol/newly_created.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using protocol::FileType;
using protocol::SetAttributes;
using vfs::DentryRef;
using vfs::PaddedName;
using ForChange = vfs::InodeLocks::ForChange;

namespace {

bool TooLong(const Superblock& superblock, std::string_view name) {
  return name.size() > vfs::kNameMax || name.size() > superblock.limits.name_bytes_max;
}

// Returns the name's dentry, looked up on the server if it is not cached (lookup_one()): the change
// affects its inode's nlink or ctime, which other names show. A cached one need not be valid. Empty
// on an error, which the change itself will meet.
DentryRef FindOrLookup(Superblock& superblock, DentryRef& directory, const vfs::Name& name,
                       const Credential& credential) {
  if (DentryRef known = superblock.dentries.Lookup(*directory, name)) return known;
  auto asked = LookupChild(superblock, directory, name, credential, LookupIntent::kWalk);
  return asked ? std::move(*asked) : DentryRef();
}

// The name, revalidated, if it leads to a directory. Errors: no_such_file_or_directory;
// not_a_directory, also for a symbolic link; LookupChild()'s.
std::expected<DentryRef, std::errc> FindDirectory(Superblock& superblock, DentryRef& directory,
                                                  const vfs::Name& name,
                                                  const Credential& credential) {
  auto child = LookupChild(superblock, directory, name, credential, LookupIntent::kWalk);
  if (!child) return child;
  if (child->inode() == nullptr) return std::unexpected(std::errc::no_such_file_or_directory);
  if (!child->inode()->is_directory()) return std::unexpected(std::errc::not_a_directory);
  return child;
}

// False if another thread has changed the name since FindOrLookup(). Preconditions: the directory
// is locked exclusively, or for a change of the name.
bool IsCurrent(Superblock& superblock, DentryRef& directory, const vfs::Name& name,
               const DentryRef& known) {
  return superblock.dentries.Lookup(*directory, name).get() == known.get();
}

// DropLink() of what a name led to that the server has removed. A kernel takes the link off what it
// found there itself; where the server may have removed another file, it is told to ask.
void DropLinkOf(Superblock& superblock, const DentryRef& removed, const Inode& directory) {
  DropLink(superblock, *removed.inode());
  if (!VerifierMatches(*removed, directory)) {
    superblock.invalidations.Post(InvalidReason::kAttributes, *removed.inode());
  }
}

// True if the reply proves that the directory did not change.
bool ChangedNothing(const protocol::WeakCacheConsistency& directory) {
  return directory.before && directory.after && directory.before->Matches(*directory.after);
}

// Looks up what a reply without handle or attributes created.
std::expected<Attributes, std::errc> LookupCreated(Superblock& superblock, DentryRef& directory,
                                                   const vfs::Name& name,
                                                   const Credential& credential) try {
  auto child = LookupChild(superblock, directory, name, credential, LookupIntent::kWalk);
  if (!child) return std::unexpected(OutcomeUnknown(child.error()));
  if (child->inode() == nullptr) return std::unexpected(std::errc::no_such_file_or_directory);
  Attributes attributes;
  CopyAttributes(*child->inode(), attributes);
  return attributes;
} catch (const std::bad_alloc&) {
  return std::unexpected(OutcomeUnknown(std::errc::not_enough_memory));
}

// UpdateAfterOwnChange() of the directory, when it is the change's turn. `lock`: null if the
// directory is locked exclusively.
uint64_t TakeInChange(Superblock& superblock, ForChange* lock, Inode& directory,
                      const protocol::WeakCacheConsistency& wcc, SendStamp stamp,
                      std::errc outcome) {
  if (lock != nullptr) lock->AwaitTurn([&] { return FollowsKnown(directory, wcc); });
  const uint64_t change_id = UpdateAfterOwnChange(superblock, directory, wcc, stamp, outcome);
  if (lock != nullptr) lock->EndTurn();
  return change_id;
}

// For AddName(), where the inode is not needed.
constexpr auto kForget = [](icache::InodeRef) {};

// CREATE, MKDIR, SYMLINK and MKNOD alike. `send(handle)` answers a CreateReply. `made(InodeRef)` is
// called before another thread can remove the name, unless the reply does not show the inode.
template <class Send, class Made = decltype(kForget)>
std::expected<Attributes, std::errc> AddName(Superblock& superblock, DentryRef& directory,
                                             std::string_view text, const Credential& credential,
                                             Send&& send, Made on_made = kForget) {
  if (TooLong(superblock, text)) return std::unexpected(std::errc::filename_too_long);
  PaddedName name(text, directory.get());
  {
    Inode& parent = *directory.inode();
    ForChange lock(superblock.inode_locks, parent, name.name());
    if (!lock) return std::unexpected(protocol::CallDeadline::Error());
    lock.NoteSend();
    SendStamp stamp = Stamp(superblock);
    protocol::CreateReply reply = send(parent.handle());
    icache::InodeRef made;
    if (reply.error == std::errc{} && reply.handle && reply.attributes) {
      auto inode = FetchInode(superblock, *reply.handle, *reply.attributes, stamp);
      if (inode) made = std::move(*inode);
    }
    uint64_t change_id =
        TakeInChange(superblock, &lock, parent, reply.directory, stamp, reply.error);
    NFSWALK_SYNC_POINT("change:taken-in");
    // Also after an error: the name may exist now.
    DropName(superblock, directory, name.name());
    if (reply.error == protocol::kStale) MarkStale(superblock, parent);
    if (ContradictsName(reply.error, nullptr)) ExpireName(superblock, directory, name.name());
    if (reply.error != std::errc{}) return std::unexpected(reply.error);
    if (reply.handle && reply.attributes) {
      if (made) {
        on_made(icache::Hold(*made));
        (void)SpliceChild(superblock, directory, name.name(), std::move(made), change_id);
      }
      return *reply.attributes;
    }
  }
  return LookupCreated(superblock, directory, name.name(), credential);
}

// REMOVE and RMDIR alike. `send(handle)` answers a RemoveReply; `known`: the name, as it was
// found. Preconditions: the directory is locked by `lock`.
template <class Send>
std::errc RemoveName(Superblock& superblock, ForChange& lock, DentryRef& directory,
                     const vfs::Name& name, const DentryRef& known, Send&& send) {
  Inode& parent = *directory.inode();
  lock.NoteSend();
  SendStamp stamp = Stamp(superblock);
  protocol::RemoveReply reply = send(parent.handle());
  uint64_t change_id = TakeInChange(superblock, &lock, parent, reply.directory, stamp, reply.error);
  NFSWALK_SYNC_POINT("change:taken-in");
  if (reply.error == std::errc{}) {
    if (known && known.inode() != nullptr) DropLinkOf(superblock, known, parent);
    if (reply.name_is_taken) {
      ExpireName(superblock, directory, name);
    } else {
      MakeNegative(superblock, directory, name, change_id);
    }
    return {};
  }
  if (reply.error == protocol::kStale) MarkStale(superblock, parent);
  Inode* const inode = known ? known.inode() : nullptr;
  if (ContradictsName(reply.error, inode)) ExpireName(superblock, directory, name);
  if (reply.error != std::errc::no_such_file_or_directory && inode != nullptr) {
    UpdateAfterOwnChange(superblock, *inode, {}, stamp, reply.error);  // its other names
  }
  return reply.error;
}

// A name and its dentry, if it has one.
struct KnownName {
  DentryRef& directory;
  const vfs::Name& name;
  const DentryRef& dentry;

  Inode& parent() const { return *directory.inode(); }
  Inode* inode() const { return dentry ? dentry.inode() : nullptr; }
};

// After a RENAME that was refused: which of the names is not what it was known as is not told, nor
// which handle is stale.
void ExpireRefused(Superblock& superblock, std::errc error, const KnownName& from,
                   const KnownName& to) {
  if (ContradictsName(error, from.inode()) || ContradictsName(error, to.inode())) {
    ExpireName(superblock, from.directory, from.name);
    ExpireName(superblock, to.directory, to.name);
  }
  if (error != protocol::kStale) return;
  InvalidateAttributes(superblock, from.parent());
  InvalidateAttributes(superblock, to.parent());
}

// The RENAME itself. Preconditions: both directories are locked exclusively, or their only one by
// `lock`.
std::errc RenameKnown(Superblock& superblock, ForChange* lock, const KnownName& from,
                      const KnownName& to, const Credential& credential) {
  if (lock != nullptr) lock->NoteSend();
  SendStamp stamp = Stamp(superblock);
  const OpenInodes::Move move(superblock.open_inodes, from.inode());
  auto reply =
      superblock.protocol->Rename(from.parent().handle(), from.name.view(), to.parent().handle(),
                                  to.name.view(), ObjectOf(from.dentry, from.parent()), credential);
  uint64_t from_change_id =
      TakeInChange(superblock, lock, from.parent(), reply.from_directory, stamp, reply.error);
  uint64_t to_change_id = from_change_id;
  if (&from.parent() != &to.parent()) {
    to_change_id =
        UpdateAfterOwnChange(superblock, to.parent(), reply.to_directory, stamp, reply.error);
  }
  NFSWALK_SYNC_POINT("change:taken-in");
  Inode* const moved = from.inode();
  Inode* const replaced = to.inode();
  if (reply.error != std::errc{}) {
    ExpireRefused(superblock, reply.error, from, to);
    for (Inode* known : {moved, replaced}) {
      if (known != nullptr) UpdateAfterOwnChange(superblock, *known, {}, stamp, reply.error);
    }
    return reply.error;
  }
  // A rename onto itself does nothing (rename(2)).
  if (from.directory.get() == to.directory.get() && from.name.view() == to.name.view()) return {};
  if (replaced != nullptr && replaced != moved) DropLinkOf(superblock, to.dentry, to.parent());
  DropName(superblock, to.directory, to.name);
  if (moved == nullptr) {
    DropName(superblock, from.directory, from.name);
    ExpireName(superblock, to.directory, to.name);
    return {};
  }
  Attributes attributes;
  CopyAttributes(*moved, attributes);
  InvalidateAttributes(superblock, *moved);  // its ctime
  // If both names are links of one file, the server does nothing, which not every version reports.
  // Drop the dentry in that case, and where Move() fails.
  const bool several_links = attributes.type != FileType::kDirectory && attributes.nlink > 1;
  // The reply does not identify the moved file: it is the cached one only if the dentry's verifier
  // still matches, that is if no other client has changed the directory, nor has anything
  // contradicted the name meanwhile.
  const bool is_known =
      from.dentry->hash.load() != 0 && VerifierMatches(*from.dentry, from.parent());
  // A dropped one is moved before, as an open file follows its names (NAME-29): the new one leads
  // to it either way.
  const std::errc unmoved = superblock.dentries.Move(*from.dentry, *to.directory, to.name,
                                                     is_known ? to_change_id : kNoChangeId);
  if (unmoved != std::errc{} || several_links || ChangedNothing(reply.from_directory)) {
    superblock.dentries.Drop(*from.dentry);
    ExpireName(superblock, to.directory, to.name);
    return {};
  }
  // Whoever has moved its own entry takes the new name for valid.
  if (!is_known) superblock.invalidations.Post(InvalidReason::kName, to.parent(), to.name.view());
  if (reply.name_is_taken) {
    ExpireName(superblock, from.directory, from.name);
  } else {
    MakeNegative(superblock, from.directory, from.name, from_change_id);
  }
  return {};
}

// RENAME; a file that is open here keeps a hidden name where it would be replaced (NAME-31).
std::errc RenameOver(Superblock& superblock, const KnownName& from, const KnownName& to,
                     const Credential& credential) {
  Inode* const moved = from.inode();
  Inode* const replaced = to.inode();
  // A directory replaces no file, and two links of one file do not replace each other.
  if (moved == nullptr || replaced == nullptr || moved == replaced || moved->is_directory() ||
      replaced->is_directory()) {
    return RenameKnown(superblock, nullptr, from, to, credential);
  }
  const OpenInodes::Removal removal(superblock.open_inodes, *replaced);
  if (!removal) return protocol::CallDeadline::Error();
  ReturnDelegation(superblock, *replaced);
  if (!NeedsSillyRename(superblock, removal, *replaced, credential)) {
    return RenameKnown(superblock, nullptr, from, to, credential);
  }
  const auto silly = SillyRename(superblock, to.directory, to.name, *replaced,
                                 HiddenFor::kReplacement, credential);
  // Another client may have removed what would be replaced: then there is nothing to hide.
  if (!silly && silly.error() != std::errc::no_such_file_or_directory) return silly.error();
  const DentryRef none;
  const std::errc error =
      RenameKnown(superblock, nullptr, from, {to.directory, to.name, none}, credential);
  if (silly && error != std::errc{} && IsKnown(error)) {
    UndoSillyRename(superblock, to.directory, to.name, *silly);
  }
  return error;
}

// REMOVE of a name that is not that of a directory: nullopt, and nothing is sent, if the file is
// open here. Preconditions: the directory is locked by `lock`.
std::optional<std::errc> RemoveUnlessOpen(Superblock& superblock, ForChange& lock,
                                          const KnownName& file, const Credential& credential) {
  const auto remove = [&] {
    return RemoveName(
        superblock, lock, file.directory, file.name, file.dentry, [&](const auto& handle) {
          return superblock.protocol->Remove(handle, file.name.view(),
                                             ObjectOf(file.dentry, file.parent()), credential);
        });
  };
  Inode* const inode = file.inode();
  if (inode == nullptr || inode->is_directory()) return remove();
  const OpenInodes::Removal removal(superblock.open_inodes, *inode);
  if (!removal) return protocol::CallDeadline::Error();
  NFSWALK_SYNC_POINT("change:removal-began");
  ReturnDelegation(superblock, *inode);
  if (NeedsSillyRename(superblock, removal, *inode, credential)) return std::nullopt;
  return remove();
}

// Hides the name of a file that is open: nullopt if it no longer is, or another has its name. No
// preconditions.
std::optional<std::errc> HideOpenFile(Superblock& superblock, const KnownName& file,
                                      const Credential& credential) {
  const auto lock = superblock.inode_locks.Lock(file.parent());
  if (!lock) return protocol::CallDeadline::Error();
  if (!IsCurrent(superblock, file.directory, file.name, file.dentry)) return std::nullopt;
  const OpenInodes::Removal removal(superblock.open_inodes, *file.inode());
  if (!removal) return protocol::CallDeadline::Error();
  if (!NeedsSillyRename(superblock, removal, *file.inode(), credential)) return std::nullopt;
  const auto silly = SillyRename(superblock, file.directory, file.name, *file.inode(),
                                 HiddenFor::kRemoval, credential);
  return silly ? std::errc{} : silly.error();
}

// After a change that may have left a hidden name, when all its locks are released: the file may
// have been closed meanwhile.
void RemoveUnneeded(Superblock& superblock, const DentryRef& removed) {
  if (removed && removed.inode() != nullptr) RemoveSillyNames(superblock, *removed.inode());
}

// Before a directory is removed or replaced. No preconditions.
void GiveUpDirectory(Superblock& superblock, const DentryRef& directory) {
  if (directory && directory.inode() != nullptr && directory.inode()->is_directory()) {
    RemoveSillyNamesIn(superblock, *directory.inode());
    ReturnDelegation(superblock, *directory.inode());
  }
}

// errc{} unless one of the names is hidden (NAME-31).
std::errc CheckNotHidden(Superblock& superblock, const KnownName& from, const KnownName& to) {
  if (superblock.open_inodes.IsHidden(from.parent(), from.name.view())) {
    return std::errc::no_such_file_or_directory;
  }
  return superblock.open_inodes.IsHidden(to.parent(), to.name.view())
             ? std::errc::device_or_resource_busy
             : std::errc{};
}

bool AreCurrent(Superblock& superblock, const KnownName& from, const KnownName& to) {
  return IsCurrent(superblock, from.directory, from.name, from.dentry) &&
         IsCurrent(superblock, to.directory, to.name, to.dentry);
}

// True of a rename that moves no directory, replaces nothing and stays in one directory.
bool ConcernsNamesOnly(const KnownName& from, const KnownName& to) {
  return from.directory.get() == to.directory.get() && to.inode() == nullptr &&
         (from.inode() == nullptr || !from.inode()->is_directory());
}

// These two: nullopt, and nothing is sent, if a name is another's than the one known.

std::optional<std::errc> RenameWithin(Superblock& superblock, const KnownName& from,
                                      const KnownName& to, const Credential& credential) {
  ForChange lock(superblock.inode_locks, from.parent(), from.name, to.name);
  if (!lock) return protocol::CallDeadline::Error();
  if (const std::errc error = CheckNotHidden(superblock, from, to); error != std::errc{}) {
    return error;
  }
  if (!AreCurrent(superblock, from, to)) return std::nullopt;
  return RenameKnown(superblock, &lock, from, to, credential);
}

std::optional<std::errc> RenameBetween(Superblock& superblock, const KnownName& from,
                                       const KnownName& to, const Credential& credential) {
  std::errc error{};
  {
    const auto locks = superblock.inode_locks.LockPair(from.parent(), to.parent());
    if (!locks.first) return protocol::CallDeadline::Error();
    error = CheckNotHidden(superblock, from, to);
    if (error != std::errc{}) return error;
    if (!AreCurrent(superblock, from, to)) return std::nullopt;
    error = RenameOver(superblock, from, to, credential);
  }
  RemoveUnneeded(superblock, to.dentry);
  return error;
}

}  // namespace

std::expected<Attributes, std::errc> CreateFile(Superblock& superblock, DentryRef& directory,
                                                std::string_view name, protocol::CreateMode how,
                                                uint32_t mode, const Credential& credential) {
  return AddName(superblock, directory, name, credential, [&](const auto& handle) {
    return superblock.protocol->Create(handle, name, how, SetAttributes{.mode = mode}, credential);
  });
}

std::expected<CreatedFile, std::errc> CreateOpenFile(Superblock& superblock, DentryRef& directory,
                                                     std::string_view name,
                                                     protocol::CreateMode how, uint32_t mode,
                                                     bool read, bool write,
                                                     const Credential& credential) {
  const SetAttributes attributes{.mode = mode};
  std::unique_ptr<protocol::OpenState> state;
  std::expected<OpenInode, std::errc> open = std::unexpected(std::errc{});
  const auto send = [&](const protocol::FileHandle& handle) -> protocol::CreateReply {
    auto reply = superblock.protocol->CreateOpen(handle, name, how, attributes, read, write,
                                                 credential);
    state = std::move(reply.state);
    // Another client has made something else of the name: looked up (NAME-26).
    const bool is_other = reply.error == std::errc::is_a_directory ||
                          reply.error == std::errc::too_many_symbolic_link_levels;
    if (is_other) reply.error = std::errc::file_exists;
    return reply;
  };
  const auto made = AddName(
      superblock, directory, name, credential, send,
      [&](icache::InodeRef inode) { open = OpenInode::Register(superblock, std::move(inode)); });
  if (!made) return std::unexpected(made.error());
  // Version 3 does not tell whether it has made the file, and has not checked the rights to
  // another.
  if (how == protocol::CreateMode::kUnchecked && !superblock.protocol->sends_open() &&
      !protocol::LooksNewlyCreated(*made, FileType::kRegular, attributes, credential)) {
    return std::unexpected(std::errc::file_exists);
  }
  if (!open && open.error() == std::errc{}) {
    vfs::PaddedName padded(name, directory.get());
    auto child = LookupChild(superblock, directory, padded.name(), credential, LookupIntent::kWalk);
    if (!child) return std::unexpected(OutcomeUnknown(child.error()));
    if (child->inode() == nullptr || child->inode()->is_directory()) {
      return std::unexpected(std::errc::io_error);  // replaced meanwhile
    }
    open = OpenInode::Register(superblock, icache::Hold(*child->inode()));
  }
  if (!open) return std::unexpected(OutcomeUnknown(open.error()));
  return CreatedFile{*made, std::move(*open), std::move(state)};
}

std::expected<Attributes, std::errc> MakeDirectory(Superblock& superblock, DentryRef& directory,
                                                   std::string_view name, uint32_t mode,
                                                   const Credential& credential) {
  return AddName(superblock, directory, name, credential, [&](const auto& handle) {
    return superblock.protocol->MakeDirectory(handle, name, SetAttributes{.mode = mode},
                                              credential);
  });
}

std::expected<Attributes, std::errc> MakeSymlink(Superblock& superblock, DentryRef& directory,
                                                 std::string_view name, std::string_view target,
                                                 const Credential& credential) {
  return AddName(superblock, directory, name, credential, [&](const auto& handle) {
    return superblock.protocol->MakeSymlink(handle, name, target, SetAttributes{.mode = 0777},
                                            credential);
  });
}

std::expected<Attributes, std::errc> MakeNode(Superblock& superblock, DentryRef& directory,
                                              std::string_view name, FileType type, uint32_t mode,
                                              protocol::Device device,
                                              const Credential& credential) {
  return AddName(superblock, directory, name, credential, [&](const auto& handle) {
    return superblock.protocol->MakeNode(handle, name, type, device, SetAttributes{.mode = mode},
                                         credential);
  });
}

std::errc MakeLink(Superblock& superblock, Inode& file, DentryRef& directory, std::string_view text,
                   const Credential& credential) {
  if (TooLong(superblock, text)) return std::errc::filename_too_long;
  PaddedName name(text, directory.get());
  Inode& parent = *directory.inode();
  ForChange lock(superblock.inode_locks, parent, name.name());
  if (!lock) return protocol::CallDeadline::Error();
  lock.NoteSend();
  SendStamp stamp = Stamp(superblock);
  auto reply = superblock.protocol->Link(file.handle(), parent.handle(), text, credential);
  uint64_t change_id = TakeInChange(superblock, &lock, parent, reply.directory, stamp, reply.error);
  DropName(superblock, directory, name.name());
  // Also after an error with an unknown outcome.
  UpdateAfterOwnChange(superblock, file, {.before = {}, .after = reply.attributes}, stamp,
                       reply.error);
  if (ContradictsName(reply.error, nullptr)) ExpireName(superblock, directory, name.name());
  if (reply.error == protocol::kStale) {  // one of the two is
    InvalidateAttributes(superblock, file);
    InvalidateAttributes(superblock, parent);
  }
  if (reply.error != std::errc{}) return reply.error;
  (void)SpliceChild(superblock, directory, name.name(), icache::Hold(file), change_id);
  return {};
}

std::errc RemoveFile(Superblock& superblock, DentryRef& directory, std::string_view text,
                     const Credential& credential) {
  if (TooLong(superblock, text)) return std::errc::filename_too_long;
  PaddedName name(text, directory.get());
  const Inode& parent = *directory.inode();
  for (;;) {
    const DentryRef known = FindOrLookup(superblock, directory, name.name(), credential);
    if (known && known.inode() != nullptr && known.inode()->is_directory()) {
      // Not left to the server: a REMOVE may remove a directory with all that is in it (NAME-38).
      const auto asked =
          LookupChild(superblock, directory, name.name(), credential, LookupIntent::kForce);
      if (!asked) return asked.error();
      if (asked->inode() != nullptr && asked->inode()->is_directory()) {
        return std::errc::is_a_directory;
      }
      continue;
    }
    NFSWALK_SYNC_POINT("change:names-known");
    {
      ForChange lock(superblock.inode_locks, parent, name.name());
      if (!lock) return protocol::CallDeadline::Error();
      if (superblock.open_inodes.IsHidden(parent, text)) {
        return std::errc::no_such_file_or_directory;
      }
      if (!IsCurrent(superblock, directory, name.name(), known)) continue;
      const auto removed =
          RemoveUnlessOpen(superblock, lock, {directory, name.name(), known}, credential);
      if (removed) return *removed;
    }
    const auto hidden = HideOpenFile(superblock, {directory, name.name(), known}, credential);
    RemoveUnneeded(superblock, known);
    if (hidden) return *hidden;
  }
}

std::errc RemoveDirectory(Superblock& superblock, DentryRef& directory, std::string_view text,
                          const Credential& credential) {
  if (TooLong(superblock, text)) return std::errc::filename_too_long;
  PaddedName name(text, directory.get());
  GiveUpDirectory(superblock, superblock.dentries.Lookup(*directory, name.name()));
  ForChange lock(superblock.inode_locks, *directory.inode(), name.name());
  if (!lock) return protocol::CallDeadline::Error();
  const DentryRef known = superblock.dentries.Lookup(*directory, name.name());
  return RemoveName(superblock, lock, directory, name.name(), known, [&](const auto& handle) {
    return superblock.protocol->RemoveDirectory(handle, text, ObjectOf(known, *directory.inode()),
                                                credential);
  });
}

std::errc Rename(Superblock& superblock, DentryRef& from_directory, std::string_view from_text,
                 DentryRef& to_directory, std::string_view to_text, bool directories_only,
                 const Credential& credential) {
  if (TooLong(superblock, from_text) || TooLong(superblock, to_text)) {
    return std::errc::filename_too_long;
  }
  PaddedName from(from_text, from_directory.get());
  PaddedName to(to_text, to_directory.get());
  for (;;) {
    DentryRef source;
    if (directories_only) {
      auto directory = FindDirectory(superblock, from_directory, from.name(), credential);
      if (!directory) return directory.error();
      source = std::move(*directory);
    } else {
      source = FindOrLookup(superblock, from_directory, from.name(), credential);
    }
    const DentryRef target = FindOrLookup(superblock, to_directory, to.name(), credential);
    GiveUpDirectory(superblock, target);
    NFSWALK_SYNC_POINT("change:names-known");
    const KnownName known_from{from_directory, from.name(), source};
    const KnownName known_to{to_directory, to.name(), target};
    const auto renamed = ConcernsNamesOnly(known_from, known_to)
                             ? RenameWithin(superblock, known_from, known_to, credential)
                             : RenameBetween(superblock, known_from, known_to, credential);
    if (renamed) return *renamed;
  }
}

}  // namespace nfswalk::nfs
