#include "nfsclient/mount/kernel_caches.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "rcu/sync_point.h"

namespace nfswalk::mount {
namespace {

// The size of reads and writes that programs take from stat(2).
constexpr blksize_t kBlockBytes = 1 << 20;
constexpr uint64_t kUsedBlockBytes = 512;
// For so long the server is asked which names of one directory lead where they did: meanwhile opens
// wait for the notifications.
constexpr std::chrono::seconds kKeepsNamesMax{3};

timespec TimespecOf(const protocol::Time& time) {
  return {static_cast<time_t>(time.seconds), static_cast<long>(time.nanoseconds)};
}

}  // namespace

uint64_t TimesOf(const Attributes& attributes) {
  constexpr uint64_t kNsPerS = 1'000'000'000;
  const auto ns = [](const protocol::Time& time) {
    return static_cast<uint64_t>(time.seconds) * kNsPerS + time.nanoseconds;
  };
  return ns(attributes.mtime) ^ std::rotl(ns(attributes.ctime), 32);
}

struct stat StatOf(const Attributes& attributes, const InodeNumbers& numbers) {
  struct stat stat{};
  stat.st_ino = numbers.Of(attributes.fsid, attributes.fileid);
  stat.st_mode = static_cast<mode_t>(attributes.type) << 12 | attributes.mode;
  stat.st_nlink = attributes.nlink;
  stat.st_uid = attributes.uid;
  stat.st_gid = attributes.gid;
  stat.st_rdev = makedev(attributes.rdev_major, attributes.rdev_minor);
  stat.st_size = static_cast<off_t>(attributes.size_bytes);
  stat.st_blksize = kBlockBytes;
  stat.st_blocks =
      static_cast<blkcnt_t>((attributes.used_bytes + kUsedBlockBytes - 1) / kUsedBlockBytes);
  stat.st_atim = TimespecOf(attributes.atime);
  stat.st_mtim = TimespecOf(attributes.mtime);
  stat.st_ctim = TimespecOf(attributes.ctime);
  return stat;
}

fuse_entry_param KernelCaches::Reply::Entry(NodeNumber directory, const char* name,
                                            LookupResult&& found) {
  NFSWALK_SYNC_POINT("kernel-caches:before-entry");
  fuse_entry_param entry{};
  if (found.name_valid_ns != 0) {
    const bool is_directory =
        found.node != nullptr && found.attributes.type == FileType::kDirectory;
    caches_.nodes_.NoteName(directory, name,
                            is_directory ? std::optional(found.node->id()) : std::nullopt);
  }
  // Behind the note, which a listing looks for behind the event.
  if (caches_.Sample() == sample_) {
    entry.entry_timeout = TimeoutOf(found.name_valid_ns);
    entry.attr_timeout = TimeoutOf(found.attributes_valid_ns);
  }
  if (found.node == nullptr) return entry;
  const auto known = caches_.nodes_.Remember(std::move(found.node));
  entry.ino = known.number;
  entry.generation = known.generation;
  entry.attr = StatOf(found.attributes, caches_.numbers_);
  caches_.nodes_.SizeOf(known.number)
      .Tell(found.attributes.size_bytes, received_, KernelSize::Now(), TimesOf(found.attributes));
  return entry;
}

void KernelCaches::Deliver(fuse_session* session, const Invalidation& event) try {
  NFSWALK_SYNC_POINT("kernel-caches:before-deliver");
  { const std::lock_guard replies_that_do_not_know_it(mutex_); }
  switch (event.reason) {
    case InvalidReason::kName:
      return DropNames(session, nodes_.TakeName(event.node, event.name));
    case InvalidReason::kAttributes:
      return DeliverNode(session, event.node, false);
    case InvalidReason::kChanged:
    case InvalidReason::kStale:
      return DeliverNode(session, event.node, true);
    case InvalidReason::kEverything:
      for (const NodeId& node : nodes_.All()) DeliverNode(session, node, true);
      return;
  }
  std::unreachable();
} catch (const std::bad_alloc&) {
  // Names of which the kernel was not notified end by their timeouts.
}

bool KernelCaches::ExpireName(fuse_session* session, NodeNumber directory, std::string_view name) {
  if (!can_expire_) return false;
  if (ExpireEntry(session, directory, name) == -ENOSYS) can_expire_ = false;
  return can_expire_;
}

bool KernelCaches::KeepsName(const NodeTable::Names& changed, const std::string& name) {
  const auto known = changed.subdirectories.find(name);
  if (known == changed.subdirectories.end()) return false;
  const auto found = changed.node->Lookup(name, Credential::OfProcess(), {.no_follow = true});
  if (!found || found->node == nullptr || found->node->id() != known->second) return false;
  nodes_.NoteName(changed.node->id(), name, known->second);
  return true;
}

// Names that `changed` says are to be looked up again.
void KernelCaches::DropNames(fuse_session* session, const NodeTable::Names& changed) {
  NFSWALK_SYNC_POINT("kernel-caches:before-expire");
  const Deadline deadline(std::chrono::steady_clock::now() + kKeepsNamesMax);
  for (const std::string& name : changed.names) {
    if (ExpireName(session, changed.directory, name) || KeepsName(changed, name)) continue;
    fuse_lowlevel_notify_inval_entry(session, changed.directory, name.data(), name.size());
  }
  nodes_.EndTaken();
}

// `data`: a file's pages, a directory's listing and names, too.
void KernelCaches::DeliverNode(fuse_session* session, const NodeId& node, bool data) {
  if (!data) {
    if (const NodeNumber number = nodes_.FindToNotify(node); number != 0) {
      fuse_lowlevel_notify_inval_inode(session, number, -1, 0);
      (void)nodes_.FindToNotify(node);
    }
    return;
  }
  const NodeTable::Names changed = nodes_.TakeNames(node);
  if (changed.directory == 0) return;
  DropNames(session, changed);
  (void)nodes_.FindToNotify(node);
  fuse_lowlevel_notify_inval_inode(session, changed.directory, 0, 0);
  (void)nodes_.FindToNotify(node);
}

}  // namespace nfswalk::mount
