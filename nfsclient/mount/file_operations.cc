// Requests about open files and their data.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/entry_reply.h"
#include "nfsclient/mount/file_size.h"
#include "nfsclient/mount/operations.h"
#include "rcu/sync_point.h"

namespace nfswalk::mount {
namespace {

constexpr uint32_t kPermissionBits = 07777;

uint32_t RightsOf(int flags) {
  const int access = flags & O_ACCMODE;
  uint32_t rights = access == O_WRONLY ? kMayWrite
                    : access == O_RDWR ? kMayRead | kMayWrite
                                       : kMayRead;
  // Whoever truncates has to have the right to write, also to open to read (do_open()).
  if ((flags & O_TRUNC) != 0) rights |= kTruncate | kMayWrite;
  return rights;
}

// The info of the reply, by which the kernel names the file from now on.
fuse_file_info InstallHandle(FileSystem& file_system, NodeNumber number, fuse_file_info info,
                             std::unique_ptr<File> file) {
  // A file that is only read has no errors to report, but may have locks. With nocto the kernel
  // drops its pages where attributes say so. A change that another open has found may be on its
  // way to the kernel yet.
  const bool writes = (info.flags & O_ACCMODE) != O_RDONLY;
  info.noflush = !writes && !file_system.locks_on_server;
  info.keep_cache = file_system.nocto ||
                    (file->is_unchanged() &&
                     !file_system.client.HasQueued(file_system.nodes.At(number)));
  info.fh = file_system.files.Add(std::make_shared<OpenFile>(std::move(file), writes));
  return info;
}

// Brings the kernel's size up to date before an open is answered: sendfile(2), copy_file_range(2)
// and mmap(2) go by it without asking for attributes. The VFS that is told ESTALE walks the path
// again with LOOKUP_REVAL, and the reply to LOOKUP has the size. Where it comes back without one,
// the file was opened by a handle or a descriptor: a longer one is shown by its last page, a
// shorter one where a READ ends. timed_out: nothing can be told on the thread that receives.
std::errc ShowSize(const Try& attempt, fuse_ino_t number, File& file, bool is_unchanged,
                   std::optional<KernelSize::Time> again) {
  FileSystem& file_system = attempt.file_system;
  KernelSize& size = file_system.nodes.SizeOf(number);
  const Attributes found = file.attributes();
  const uint64_t bytes = found.size_bytes;
  if (is_unchanged && size.Is(bytes, again)) return {};
  if (attempt.flags.cached) return std::errc::timed_out;
  // Waits for the notifications of what this open has found: one that came later would make the
  // kernel drop the attributes that it asks for next.
  file_system.client.AwaitInvalidations();
  const bool is_shown = size.Is(bytes, again);
  // All callers of other PID namespaces have 0.
  const bool asks_again = !is_shown && !again && attempt.caller != 0;
  // The next open takes the file for unchanged, so that its pages would stay.
  if (!is_unchanged && (asks_again || !size.HasTimes(TimesOf(found)))) {
    file_system.Drop(number, asks_again);
  }
  if (asks_again) {
    return protocol::kStale;
  }
  if (!is_shown) StoreEnd(file_system, number, file, bytes);
  return {};
}

// The node, open: by its name at first, which another client may have given to another file, and
// once the kernel has looked that up anew (`is_retry`) by itself. Where the server refuses that, it
// is `early`, unless that is null: opened by the LOOKUP before.
Result<std::unique_ptr<File>> OpenNode(const Try& attempt, const Node& node, uint32_t rights,
                                       bool is_retry, std::unique_ptr<File>& early) {
  auto file = node.Open("", rights, attempt.credential, {.as_named = !is_retry});
  if (file || file.error() != protocol::kStale || early == nullptr) return file;
  if ((rights & kTruncate) != 0) {
    const auto cut = early->SetAttributesOf({.size_bytes = 0});
    if (!cut) return std::unexpected(cut.error());
  }
  return std::move(early);
}

std::errc ReplyOpened(const Try& attempt, fuse_ino_t number, const fuse_file_info& info) {
  FileSystem& file_system = attempt.file_system;
  OpenRetries& retries = file_system.open_retries;
  const uint32_t rights = RightsOf(info.flags);
  const Node& node = file_system.nodes.At(number);
  if (attempt.flags.cached && retries.Has(attempt.caller)) return std::errc::timed_out;
  auto retry = retries.Take(attempt.caller, rights, attempt.credential, node.id());
  std::unique_ptr<File> early;
  std::optional<KernelSize::Time> again;
  if (retry) {
    early = std::move(retry->file);
    again = retry->since;
  }
  // A change that the first open found is no news to the second.
  const bool was_unchanged = early == nullptr || early->is_unchanged();
  auto file = OpenNode(attempt, node, rights, retry.has_value(), early);
  NFSWALK_SYNC_POINT("mount:opened");
  std::errc error = file ? std::errc{} : file.error();
  if (file && (rights & kTruncate) != 0) {
    file_system.nodes.SizeOf(number).Tell(0, KernelSize::kAlways);
  } else if (file) {
    const bool is_unchanged = file_system.nocto || (was_unchanged && (*file)->is_unchanged());
    error = ShowSize(attempt, number, **file, is_unchanged, again);
  }
  if (error == protocol::kStale && !retry) retries.Add(attempt.caller, rights, attempt.credential);
  if (error != std::errc{}) return error;
  const fuse_file_info kept = InstallHandle(file_system, number, info, *std::move(file));
  if (fuse_reply_open(attempt.request, &kept) != 0) (void)file_system.files.Take(kept.fh);
  return {};
}

void Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  FileSystem& file_system = FileSystem::Of(request);
  const auto open = [number, info = *info](const Try& attempt) {
    return ReplyOpened(attempt, number, info);
  };
  const bool may_be_cached =
      file_system.version == 3 && file_system.nocto && (RightsOf(info->flags) & kTruncate) == 0;
  if (may_be_cached) return AnswerAtOnce(request, open);
  AnswerOnWorker(request, open);
}

std::errc ReplyCreated(const Try& attempt, fuse_ino_t parent, const std::string& name, mode_t mode,
                       const fuse_file_info& info) {
  FileSystem& file_system = attempt.file_system;
  const uint64_t sample = file_system.caches.Sample();
  auto created = file_system.nodes.At(parent).CreateAndOpen(
      name, RightsOf(info.flags), mode & kPermissionBits, (info.flags & O_EXCL) != 0,
      attempt.credential, attempt.flags);
  const std::errc refused = created ? std::errc{} : created.error();
  const std::errc asked = AskForNames(attempt, parent, name, NameRetries::After::kMissing, refused);
  if (asked != std::errc{}) return asked;
  // Another client has taken the name away again: the kernel asks once more.
  if (created->found.node == nullptr) return protocol::kStale;
  KernelCaches::Reply reply(file_system.caches, sample, KernelSize::kAlways);
  const auto entry = reply.Entry(parent, name.c_str(), std::move(created->found));
  const fuse_file_info kept = InstallHandle(file_system, entry.ino, info, std::move(created->file));
  if (fuse_reply_create(attempt.request, &entry, &kept) != 0) {
    (void)file_system.files.Take(kept.fh);
    file_system.nodes.Forget(entry.ino, 1);
  }
  return {};
}

void Create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* info) {
  AnswerOnWorker(request,
                 [parent, name = std::string(name), mode, info = *info](const Try& attempt) {
                   return ReplyCreated(attempt, parent, name, mode, info);
                 });
}

void Read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info) {
  OpenFile& open = Handles<OpenFile>::At(*info);
  AnswerAtOnce(request, [number, size, offset, &open](const Try& attempt) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(size);
    const auto read = open.file->PRead(std::as_writable_bytes(std::span(buffer.get(), size)),
                                       static_cast<uint64_t>(offset));
    if (!read) return read.error();
    if (*read < size) {
      attempt.file_system.nodes.SizeOf(number).EndRead(static_cast<uint64_t>(offset) + *read);
    }
    fuse_reply_buf(attempt.request, buffer.get(), *read);
    return std::errc{};
  });
}

void Write(fuse_req_t request, fuse_ino_t number, const char* data, size_t size, off_t offset,
           fuse_file_info* info) {
  const auto bytes = std::as_bytes(std::span(data, size));
  AnswerOnWorker(request, [number, data = std::vector(bytes.begin(), bytes.end()), offset,
                           append = (info->flags & O_APPEND) != 0,
                           &open = Handles<OpenFile>::At(*info)](const Try& attempt) {
    open.written = true;
    const auto written =
        append ? open.file->Append(data) : open.file->PWrite(data, static_cast<uint64_t>(offset));
    if (!written) return written.error();
    attempt.file_system.nodes.SizeOf(number).Write(static_cast<uint64_t>(offset) + *written);
    fuse_reply_write(attempt.request, *written);
    return std::errc{};
  });
}

std::errc ReplyIfNone(const Try& attempt, std::errc error) {
  if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
  return error;
}

// Unlocks what `owner` has, behind the data: also of a process that was killed, which does not wait
// for it.
std::errc FlushLocked(const Try& attempt, OpenFile& open, uint64_t owner) {
  const std::errc error = open.writes ? open.file->Flush() : std::errc{};
  if (error == std::errc::operation_canceled) {
    const auto kept = open.shared_from_this();  // RELEASE follows the reply
    fuse_reply_err(attempt.request, EINTR);
    Cancellation none;
    const CancelScope scope(none);
    (void)kept->file->Flush();
    kept->file->ReleaseLocks(owner);
    return {};
  }
  open.file->ReleaseLocks(owner);
  if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
  return error;
}

// close(2) of one of the descriptors, also by exec(2) of a child. All data of the inode goes out
// where it may be written (nfs_file_flush()), whichever file it was written by: the kernel writes
// mapped pages by any. The locks of the process go, whichever file they were taken by.
void Flush(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  OpenFile& open = Handles<OpenFile>::At(*info);
  FileSystem& file_system = FileSystem::Of(request);
  const bool unlocks = file_system.locks_on_server && file_system.nodes.WasLocked(number);
  if (!open.writes && !unlocks) {
    fuse_reply_err(request, 0);
    return;
  }
  open.written = false;
  AnswerOnWorker(request, [&open, unlocks, owner = info->lock_owner](const Try& attempt) {
    return unlocks ? FlushLocked(attempt, open, owner)
                   : ReplyIfNone(attempt, open.file->Flush());
  });
}

void Sync(fuse_req_t request, fuse_ino_t, int, fuse_file_info* info) {
  AnswerOnWorker(request, [&open = Handles<OpenFile>::At(*info)](const Try& attempt) {
    return ReplyIfNone(attempt, open.file->Sync());
  });
}

// Returns whether the server may know them, as from version 4.2 on.
bool HasSpaceCalls(fuse_req_t request) {
  const auto& server = FileSystem::Of(request).client.server();
  return server.version == 4 && server.minor_version >= 2u;
}

// fallocate(2): of the modes NFS has two (nfs42_fallocate()).
void Allocate(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t length,
              fuse_file_info* info) {
  const bool is_hole = mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
  // The kernel makes EOPNOTSUPP of it, and does not ask again.
  if (!HasSpaceCalls(request)) return (void)fuse_reply_err(request, ENOSYS);
  if (mode != 0 && !is_hole) return (void)fuse_reply_err(request, EOPNOTSUPP);
  AnswerOnWorker(request, [number, is_hole, at = static_cast<uint64_t>(offset),
                           bytes = static_cast<uint64_t>(length),
                           &open = Handles<OpenFile>::At(*info)](const Try& attempt) {
    open.written = true;
    const std::errc error =
        is_hole ? open.file->PunchHole(at, bytes) : open.file->Allocate(at, bytes);
    if (error == std::errc{} && !is_hole) {
      attempt.file_system.nodes.SizeOf(number).Write(at + bytes);
    }
    return ReplyIfNone(attempt, error);
  });
}

// copy_file_range(2), before which the kernel writes back the pages of both files. Where this fails
// with EOPNOTSUPP it reads and writes.
void CopyRange(fuse_req_t request, fuse_ino_t, off_t source_offset, fuse_file_info* source_info,
               fuse_ino_t number, off_t offset, fuse_file_info* info, size_t length, int flags) {
  if (!HasSpaceCalls(request)) return (void)fuse_reply_err(request, ENOSYS);
  if (flags != 0) return (void)fuse_reply_err(request, EINVAL);
  AnswerOnWorker(
      request,
      [number, source_at = static_cast<uint64_t>(source_offset), at = static_cast<uint64_t>(offset),
       length, &from = Handles<OpenFile>::At(*source_info),
       &open = Handles<OpenFile>::At(*info)](const Try& attempt) -> std::errc {
        open.written = true;
        const auto copied = open.file->CopyFrom(*from.file, source_at, at, length);
        if (!copied) return copied.error();
        if (*copied != 0) attempt.file_system.nodes.SizeOf(number).Write(at + *copied);
        fuse_reply_write(attempt.request, *copied);
        return {};
      });
}

// lseek(2) with SEEK_DATA or SEEK_HOLE. The kernel does without where no server can say.
void Seek(fuse_req_t request, fuse_ino_t number, off_t offset, int whence, fuse_file_info* info) {
  if (!HasSpaceCalls(request)) return (void)fuse_reply_err(request, ENOSYS);
  const Content content = whence == SEEK_DATA ? Content::kData : Content::kHole;
  AnswerOnWorker(request,
                 [number, content, offset,
                  &open = Handles<OpenFile>::At(*info)](const Try& attempt) -> std::errc {
                   // Pages that were written through a mapping are no holes.
                   attempt.file_system.Drop(number, true);
                   const auto found = open.file->Seek(static_cast<uint64_t>(offset), content);
                   if (!found) return found.error();
                   fuse_reply_lseek(attempt.request, static_cast<off_t>(*found));
                   return {};
                 });
}

// The last close. The caller does not wait for it, and may remove the file next. Answered before
// the server is asked: the kernel hands out no more than kFuseBackgroundMax of these at a time.
void Release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  NFSWALK_SYNC_POINT("mount:release");
  FileSystem& file_system = FileSystem::Of(request);
  auto released = file_system.files.Take(info->fh);
  released->file->BeginClose();
  fuse_reply_err(request, 0);
  file_system.workers.Run([released = std::move(released)]() mutable { released = nullptr; });
}

}  // namespace

void AddFileOperations(fuse_lowlevel_ops& operations) {
  operations.open = Open;
  operations.create = Create;
  operations.read = Read;
  operations.write = Write;
  operations.flush = Flush;
  operations.fsync = Sync;
  operations.release = Release;
  operations.fallocate = Allocate;
  operations.copy_file_range = CopyRange;
  operations.lseek = Seek;
}

}  // namespace nfswalk::mount
