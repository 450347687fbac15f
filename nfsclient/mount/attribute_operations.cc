// Requests about attributes and rights.

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/mount_stats.h"
#include "nfsclient/mount/operations.h"

namespace nfswalk::mount {
namespace {

constexpr uint32_t kPermissionBits = 07777;
constexpr unsigned long kNameBytesMax = 255;
constexpr unsigned long kSpaceBlockBytes = 4096;
// How long statfs(2) waits: umount(8) asks for it first, also where the server hangs.
constexpr std::chrono::seconds kSpaceMax{10};

// An event about the node that comes meanwhile makes the kernel drop the reply's timeout itself.
std::errc ReplyAttributes(const Try& attempt, fuse_ino_t number) {
  NodeTable& nodes = attempt.file_system.nodes;
  const auto found = nodes.At(number).Lookup("", attempt.credential, attempt.flags);
  if (!found) return found.error();
  nodes.SizeOf(number).Tell(found->attributes.size_bytes, attempt.received, KernelSize::Now(),
                            TimesOf(found->attributes));
  const struct stat stat = StatOf(found->attributes, attempt.file_system.inode_numbers);
  fuse_reply_attr(attempt.request, &stat, TimeoutOf(found->attributes_valid_ns));
  return {};
}

// Comes with an open file only where the kernel needs the size for read(2) or lseek(2), not for
// stat(2) (fs/fuse/dir.c: fuse_update_attributes()): what was written need not be sent for it.
void GetAttributes(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  const OpenFile* const open = info != nullptr ? &Handles<OpenFile>::At(*info) : nullptr;
  if (open != nullptr && open->written) {
    if (const auto known = open->file->cached_attributes()) {
      FileSystem& file_system = FileSystem::Of(request);
      const struct stat stat = StatOf(*known, file_system.inode_numbers);
      file_system.nodes.SizeOf(number).Tell(known->size_bytes, KernelSize::Now());
      fuse_reply_attr(request, &stat, 0);
      return;
    }
  }
  AnswerCached(request, [number](const Try& attempt) { return ReplyAttributes(attempt, number); });
}

// Version 3 has seconds of 32 bits: the nearest that there are (s_time_min, s_time_max of the
// kernel's client).
protocol::SetTime TimeOf(const timespec& time, bool now, int version) {
  if (now) return {};
  if (version != 3 || (time.tv_sec >= 0 && time.tv_sec <= UINT32_MAX)) {
    return {protocol::Time{time.tv_sec, static_cast<uint32_t>(time.tv_nsec)}};
  }
  return {protocol::Time{time.tv_sec < 0 ? 0 : UINT32_MAX, 0}};
}

constexpr int kKept = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID |
                      FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW |
                      FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW;

SetAttributes ChangesOf(const struct stat& stat, int to_set, int version) {
  SetAttributes changes;
  if (to_set & FUSE_SET_ATTR_MODE) changes.mode = stat.st_mode & kPermissionBits;
  if (to_set & FUSE_SET_ATTR_UID) changes.uid = stat.st_uid;
  if (to_set & FUSE_SET_ATTR_GID) changes.gid = stat.st_gid;
  if (to_set & FUSE_SET_ATTR_SIZE) changes.size_bytes = static_cast<uint64_t>(stat.st_size);
  if (to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)) {
    changes.atime = TimeOf(stat.st_atim, to_set & FUSE_SET_ATTR_ATIME_NOW, version);
  }
  if (to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) {
    changes.mtime = TimeOf(stat.st_mtim, to_set & FUSE_SET_ATTR_MTIME_NOW, version);
  }
  return changes;
}

// Uses the open file where the kernel has one: it may be written whatever its mode says now.
// Attributes that the server does not keep change nothing (nfs_setattr()): chown(2) of -1, the
// kernel's clearing of set-user-ID bits.
void SetAttributesOf(fuse_req_t request, fuse_ino_t number, struct stat* stat, int to_set,
                     fuse_file_info* info) {
  OpenFile* const open = info != nullptr ? &Handles<OpenFile>::At(*info) : nullptr;
  AnswerOnWorker(
      request, [number, changes = ChangesOf(*stat, to_set, FileSystem::Of(request).version), open,
                any = (to_set & kKept) != 0](const Try& attempt) {
        if (!any) return ReplyAttributes(attempt, number);
        const auto changed = open != nullptr ? open->file->SetAttributesOf(changes)
                                             : attempt.file_system.nodes.At(number).SetAttributesOf(
                                                   "", changes, attempt.credential, attempt.flags);
        return changed ? ReplyAttributes(attempt, number) : changed.error();
      });
}

void Access(fuse_req_t request, fuse_ino_t number, int mask) {
  AnswerCached(request, [number, mask](const Try& attempt) {
    const std::errc error = attempt.file_system.nodes.At(number).Access(
        "", static_cast<uint32_t>(mask), attempt.credential, attempt.flags);
    if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
    return error;
  });
}

void StatFs(fuse_req_t request, fuse_ino_t number) {
  AnswerOnWorker(request, [number](const Try& attempt) {
    const Deadline limit(Deadline::Clock::now() + kSpaceMax);
    const auto space =
        attempt.file_system.nodes.At(number).GetSpace("", attempt.credential, attempt.flags);
    if (!space) return space.error();
    struct statvfs stat{};
    stat.f_bsize = stat.f_frsize = kSpaceBlockBytes;
    stat.f_blocks = space->total_bytes / kSpaceBlockBytes;
    stat.f_bfree = space->free_bytes / kSpaceBlockBytes;
    stat.f_bavail = space->available_bytes / kSpaceBlockBytes;
    stat.f_files = space->total_files;
    stat.f_ffree = space->free_files;
    stat.f_favail = space->available_files;
    stat.f_namemax = kNameBytesMax;
    fuse_reply_statfs(attempt.request, &stat);
    return std::errc{};
  });
}

// `nfswalk stats`. Sends nothing.
void Control(fuse_req_t request, fuse_ino_t, unsigned command, void*, fuse_file_info*, unsigned,
             const void*, size_t, size_t reply_bytes_max) {
  if (command != kStatsRequest) {
    fuse_reply_err(request, ENOTTY);
    return;
  }
  const FileSystem& file_system = FileSystem::Of(request);
  const Client& client = file_system.client;
  std::string text = FormatSamples(SamplesOf(client.stats(), client.transport_stats())) +
                     FormatSamples(file_system.requests.Samples());
  text.resize(std::min(text.size(), reply_bytes_max));
  fuse_reply_ioctl(request, static_cast<int>(text.size()), text.data(), text.size());
}

}  // namespace

void AddAttributeOperations(fuse_lowlevel_ops& operations) {
  operations.getattr = GetAttributes;
  operations.setattr = SetAttributesOf;
  operations.access = Access;
  operations.statfs = StatFs;
  operations.ioctl = Control;
}

}  // namespace nfswalk::mount
