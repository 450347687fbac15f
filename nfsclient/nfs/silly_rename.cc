#include "nfsclient/nfs/silly_rename.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/delegation.h"
#include "nfsclient/nfs/revalidate.h"
#include "nfsclient/nfs/splice.h"
#include "nfsclient/nfs/stale_name.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using sunrpc_auth::Credential;
using vfs::DentryRef;

namespace {

// Tries of names that exist already.
constexpr int kNameTries = 1000;

// ".nfs", the file id and a counter, both in hexadecimal, as fs/nfs/unlink.c spells it.
std::string NextSillyName(OpenInodes& open_inodes, const Inode& inode) {
  std::array<char, 4 + 16 + 8 + 1> text;
  std::snprintf(text.data(), text.size(), ".nfs%016" PRIx64 "%08" PRIx32, inode.fileid,
                open_inodes.NextCounter());
  return text.data();
}

// A name that does not exist: RENAME would replace what has it.
std::expected<std::string, std::errc> FreeSillyName(Superblock& superblock, const Inode& directory,
                                                    const Inode& inode,
                                                    const Credential& credential) {
  for (int tries = 0; tries < kNameTries; ++tries) {
    std::string name = NextSillyName(superblock.open_inodes, inode);
    const auto reply = superblock.protocol->Lookup(directory.handle(), name, credential);
    if (reply.error == std::errc::no_such_file_or_directory) return name;
    if (reply.error != std::errc{}) return std::unexpected(reply.error);
  }
  return std::unexpected(std::errc::device_or_resource_busy);
}

// The REMOVE of a hidden name, by the credential that removed the file.
std::errc RemoveHidden(Superblock& superblock, Inode& parent, const SillyName& silly) {
  const SendStamp stamp = Stamp(superblock);
  const auto reply =
      superblock.protocol->Remove(parent.handle(), silly.name, std::nullopt, silly.remover);
  (void)UpdateAfterOwnChange(superblock, parent, reply.directory, stamp, reply.error);
  return reply.error;
}

// One hidden name, the last of its file. True if it is gone from the table. `stays_if_open`: on the
// server, which refuses it before the CLOSE: whoever sends that comes back.
bool RemoveSillyName(Superblock& superblock, DentryRef& directory,
                     OpenInodes::SillyNames::iterator silly, bool stays_if_open) {
  const auto inode = icache::Hold(*silly->inode);
  ReturnDelegation(superblock, *inode);  // its node may have been opened since
  const std::errc error = RemoveHidden(superblock, *directory.inode(), *silly);
  if (!IsKnown(error)) return false;
  if (stays_if_open && error == std::errc::device_or_resource_busy) return false;
  if (error == std::errc{}) {
    DropLink(superblock, *inode);
  } else {
    InvalidateAttributes(superblock, *inode);
  }
  superblock.open_inodes.Show(silly);
  return true;
}

// Gives a file that is hidden its name again, beside the hidden one, unless another client has made
// something of that name meanwhile: LINK replaces nothing. RENAME does, so it is for servers that
// make no link of the file, and only after a LOOKUP that finds nothing.
std::errc NameAgain(Superblock& superblock, Inode& parent, const vfs::Name& name,
                    const SillyName& silly) {
  const SendStamp stamp = Stamp(superblock);
  const auto linked = superblock.protocol->Link(silly.inode->handle(), parent.handle(), name.view(),
                                                silly.remover);
  (void)UpdateAfterOwnChange(superblock, parent, linked.directory, stamp, linked.error);
  if (linked.error == std::errc{} || linked.error == std::errc::file_exists ||
      !IsKnown(linked.error)) {
    return linked.error;
  }
  const auto found = superblock.protocol->Lookup(parent.handle(), name.view(), silly.remover);
  if (found.error != std::errc::no_such_file_or_directory) {
    return found.error == std::errc{} ? std::errc::file_exists : found.error;
  }
  const SendStamp renamed_at = Stamp(superblock);
  const auto renamed = superblock.protocol->Rename(parent.handle(), silly.name, parent.handle(),
                                                   name.view(), std::nullopt, silly.remover);
  (void)UpdateAfterOwnChange(superblock, parent, renamed.from_directory, renamed_at, renamed.error);
  return renamed.error;
}

}  // namespace

bool NeedsSillyRename(Superblock& superblock, const OpenInodes::Removal& removal, Inode& inode,
                      const Credential& credential) {
  if (!removal.is_open()) return false;
  protocol::Attributes now;
  CopyAttributes(inode, now);
  if (now.nlink <= 1) return true;
  // Only the server's count shows what was unlinked since, by another client or by this one.
  // Without it this may be the last name.
  const std::errc error = RevalidateInode(superblock, inode, credential, /*force=*/true);
  if (error != std::errc{}) return error != protocol::kStale;
  CopyAttributes(inode, now);
  return now.nlink <= 1;
}

std::expected<OpenInodes::SillyNames::iterator, std::errc> SillyRename(
    Superblock& superblock, DentryRef& directory, const vfs::Name& name, Inode& inode,
    HiddenFor what, const Credential& credential) {
  Inode& parent = *directory.inode();
  NFSWALK_SYNC_POINT("silly-rename:begin");
  auto text = FreeSillyName(superblock, parent, inode, credential);
  if (!text) return std::unexpected(text.error());
  OpenInodes::SillyNames entry;
  entry.push_back({icache::Hold(inode), directory.Copy(), std::move(*text), credential});
  const auto silly = superblock.open_inodes.Hide(entry);
  NFSWALK_SYNC_POINT("silly-rename:before-rename");
  const SendStamp stamp = Stamp(superblock);
  const DentryRef known = superblock.dentries.Lookup(*directory, name);
  std::optional<protocol::KnownObject> object;
  if (known && known.inode() == &inode) object = ObjectOf(known, parent);
  // Another file under the hidden name was renamed by this call, too.
  if (object && !object->is_valid) object.reset();
  const auto reply = superblock.protocol->Rename(parent.handle(), name.view(), parent.handle(),
                                                 silly->name, object, credential);
  const uint64_t change_id =
      UpdateAfterOwnChange(superblock, parent, reply.from_directory, stamp, reply.error);
  if (reply.error == std::errc{}) {
    InvalidateAttributes(superblock, inode);  // its ctime
    if (what == HiddenFor::kReplacement) {
      DropName(superblock, directory, name);
    } else if (reply.name_is_taken) {
      ExpireName(superblock, directory, name);
    } else {
      MakeNegative(superblock, directory, name, change_id);
    }
    return silly;
  }
  // The name may be hidden after all where the outcome is unknown: the last close removes it then.
  if (IsKnown(reply.error)) superblock.open_inodes.Show(silly);
  if (reply.error == protocol::kStale) MarkStale(superblock, parent);
  UpdateAfterOwnChange(superblock, inode, {}, stamp, reply.error);
  if (ContradictsName(reply.error, &inode) || !IsKnown(reply.error)) {
    ExpireName(superblock, directory, name);
  }
  return std::unexpected(reply.error);
}

void UndoSillyRename(Superblock& superblock, DentryRef& directory, const vfs::Name& name,
                     OpenInodes::SillyNames::iterator silly) {
  Inode& parent = *directory.inode();
  const std::errc error = NameAgain(superblock, parent, name, *silly);
  // If the name is another client's now, the last close removes the file that had it. If it is not
  // known to be taken, the hidden one may be the only one, and stays.
  const bool is_kept = error == std::errc::file_exists ||
                       (error == std::errc{} && !IsKnown(RemoveHidden(superblock, parent, *silly)));
  InvalidateAttributes(superblock, *silly->inode);
  if (!is_kept) superblock.open_inodes.Show(silly);
  ExpireName(superblock, directory, name);
}

void RemoveSillyNames(Superblock& superblock, Inode& inode) {
  for (;;) {
    auto place = superblock.open_inodes.FindPlace(&inode);
    if (!place.directory) return;
    const protocol::CallDeadline deadline(superblock.protocol->NewDeadline());
    const auto lock = superblock.inode_locks.Lock(*place.directory.inode());
    if (!lock) return;
    const OpenInodes::Removal removal(superblock.open_inodes, inode);
    NFSWALK_SYNC_POINT("silly-rename:before-remove");
    if (!removal || removal.is_open()) return;  // the last close does it
    const auto silly = superblock.open_inodes.Find(inode, *place.directory);
    if (silly && !RemoveSillyName(superblock, place.directory, *silly, true)) return;
  }
}

void RemoveSillyNamesIn(Superblock& superblock, const Inode& directory) {
  for (const icache::InodeRef& inode : superblock.open_inodes.ClosedIn(directory)) {
    RemoveSillyNames(superblock, *inode);
  }
}

void RemoveAllSillyNames(Superblock& superblock, std::chrono::milliseconds limit) {
  const protocol::CallDeadline deadline(protocol::CallDeadline::Clock::now() + limit);
  for (;;) {
    auto place = superblock.open_inodes.FindPlace(nullptr);
    if (!place.directory) return;
    const auto lock = superblock.inode_locks.Lock(*place.directory.inode());
    if (!lock) return;
    const OpenInodes::Removal removal(superblock.open_inodes, *place.inode);
    if (!removal) return;
    const auto silly = superblock.open_inodes.Find(*place.inode, *place.directory);
    if (silly && !RemoveSillyName(superblock, place.directory, *silly, false)) return;
  }
}

}  // namespace nfswalk::nfs
