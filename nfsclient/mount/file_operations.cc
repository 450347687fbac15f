// Requests about open files and their data.

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/operations.h"

namespace nfswalk::mount {
namespace {

constexpr uint32_t kPermissionBits = 07777;

uint32_t RightsOf(int flags) {
  const int access = flags & O_ACCMODE;
  uint32_t rights = access == O_WRONLY ? kMayWrite
                    : access == O_RDWR ? kMayRead | kMayWrite
                                       : kMayRead;
  if ((flags & O_TRUNC) != 0) rights |= kTruncate;
  return rights;
}

// The info of the reply, by which the kernel names the file from now on.
fuse_file_info Keep(FileSystem& file_system, fuse_file_info info, std::unique_ptr<File> file) {
  // What is only read has no errors to report. With nocto the kernel drops its pages where
  // attributes say so.
  info.noflush = (info.flags & O_ACCMODE) == O_RDONLY;
  info.keep_cache = file_system.nocto || file->is_unchanged();
  info.fh = file_system.files.Add(std::unique_ptr<OpenFile>(new OpenFile{std::move(file)}));
  return info;
}

std::errc ReplyOpened(const Try& attempt, fuse_ino_t number, const fuse_file_info& info) {
  FileSystem& file_system = attempt.file_system;
  auto file = file_system.nodes.At(number).Open("", RightsOf(info.flags), attempt.credential);
  if (!file) return file.error();
  const fuse_file_info kept = Keep(file_system, info, *std::move(file));
  // Close-to-open: a read(2) that follows must not end at the size from before another client's
  // change, which the kernel hears of elsewhere, later. Attributes alone take no lock of the
  // kernel's.
  if (!kept.keep_cache) fuse_lowlevel_notify_inval_inode(file_system.session, number, -1, 0);
  if (fuse_reply_open(attempt.request, &kept) != 0) (void)file_system.files.Take(kept.fh);
  return {};
}

void Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  const auto open = [number, info = *info](const Try& attempt) {
    return ReplyOpened(attempt, number, info);
  };
  const FileSystem& file_system = FileSystem::Of(request);
  const bool may_be_cached =
      file_system.version == 3 && file_system.nocto && (RightsOf(info->flags) & kTruncate) == 0;
  if (may_be_cached) return AnswerAtOnce(request, open);
  AnswerOnWorker(request, open);
}

std::errc ReplyCreated(const Try& attempt, fuse_ino_t parent, const std::string& name, mode_t mode,
                       const fuse_file_info& info) {
  FileSystem& file_system = attempt.file_system;
  const uint64_t sample = file_system.caches.Sample();
  auto created =
      file_system.nodes.At(parent).CreateAndOpen(name, RightsOf(info.flags), mode & kPermissionBits,
                                                 (info.flags & O_EXCL) != 0, attempt.credential);
  if (!created) return created.error();
  // Another client has taken the name away again: the kernel asks once more.
  if (created->found.node == nullptr) return protocol::kStale;
  KernelCaches::Reply reply(file_system.caches, sample);
  const auto entry = reply.Entry(parent, name.c_str(), std::move(created->found));
  const fuse_file_info kept = Keep(file_system, info, std::move(created->file));
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

void Read(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info* info) {
  AnswerAtOnce(request, [size, offset, &open = Handles<OpenFile>::At(*info)](const Try& attempt) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(size);
    const auto read = open.file->PRead(std::as_writable_bytes(std::span(buffer.get(), size)),
                                       static_cast<uint64_t>(offset));
    if (!read) return read.error();
    fuse_reply_buf(attempt.request, buffer.get(), *read);
    return std::errc{};
  });
}

void Write(fuse_req_t request, fuse_ino_t, const char* data, size_t size, off_t offset,
           fuse_file_info* info) {
  const auto bytes = std::as_bytes(std::span(data, size));
  AnswerOnWorker(request, [data = std::vector(bytes.begin(), bytes.end()), offset,
                           append = (info->flags & O_APPEND) != 0,
                           &open = Handles<OpenFile>::At(*info)](const Try& attempt) {
    open.written = true;
    const auto written =
        append ? open.file->Append(data) : open.file->PWrite(data, static_cast<uint64_t>(offset));
    if (!written) return written.error();
    fuse_reply_write(attempt.request, *written);
    return std::errc{};
  });
}

std::errc ReplySynced(const Try& attempt, const OpenFile& open) {
  const std::errc error = open.file->Sync();
  if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
  return error;
}

// close(2) of one of the descriptors of a file that may be written. All data of the inode goes out
// (nfs_file_flush()), whichever file it was written by: the kernel writes mapped pages by any.
void Flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  OpenFile& open = Handles<OpenFile>::At(*info);
  open.written = false;
  AnswerOnWorker(request, [&open](const Try& attempt) { return ReplySynced(attempt, open); });
}

void Sync(fuse_req_t request, fuse_ino_t, int, fuse_file_info* info) {
  AnswerOnWorker(request, [&open = Handles<OpenFile>::At(*info)](const Try& attempt) {
    return ReplySynced(attempt, open);
  });
}

// The last close. Nobody waits for it.
void Release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  AnswerOnWorker(request, [handle = info->fh](const Try& attempt) {
    auto released = attempt.file_system.files.Take(handle);
    released = nullptr;
    fuse_reply_err(attempt.request, 0);
    return std::errc{};
  });
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
}

}  // namespace nfswalk::mount
