// file_data: read, write, append, fsync and close of an open file (fs/nfs/file.c, read.c).
//
// One owner for each question: write_back.h has what was written and is not on the server's stable
// storage, for all open files of an inode; read_ahead.h what was read ahead; the inode's i_size is
// the file's end (nfs/attribute_cache.h). A read shows what a write that has returned before it
// wrote, whichever open file of this client that came through.
//
// Thread safety: all calls at once from any number of threads.
#ifndef NFSWALK_NFSCLIENT_DATA_FILE_DATA_H_
#define NFSWALK_NFSCLIENT_DATA_FILE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "nfsclient/data/byte_range_locks.h"
#include "nfsclient/data/read_ahead.h"
#include "nfsclient/data/write_back.h"
#include "nfsclient/nfs/open_context.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::data {

// Shared with the data that was written through it (OpenContext).
class FileData : public nfs::OpenContext, public std::enable_shared_from_this<FileData> {
 public:
  template <typename T>
  using Result = std::expected<T, std::errc>;

  FileData(nfs::OpenContext context, nfs::Superblock& of)
      : nfs::OpenContext(std::move(context)),
        superblock(of),
        seen_(of.write_errors.Sample(*inode)) {}

  // pread(2). Preconditions of Read() and Write(): the offset, and the end of the range, are
  // off_t's.
  [[nodiscard]] Result<size_t> Read(std::span<std::byte> into, uint64_t offset_bytes);
  // pwrite(2). Fewer bytes than `data` without memory, or where a Deadline passes. Errors: those of
  // write-back that this file was not told (superblock/write_errors.h); timed_out, operation_canceled,
  // not_enough_memory, with nothing written.
  [[nodiscard]] Result<size_t> Write(std::span<const std::byte> data, uint64_t offset_bytes);
  // write(2) with O_APPEND: at the end that the file has on the server by now. file_too_large where
  // that would be no off_t.
  [[nodiscard]] Result<size_t> Append(std::span<const std::byte> data);
  // fallocate(2), of what was written before, too. Errors: those of Sync() that lose nothing;
  // timed_out, operation_canceled, not_enough_memory: the outcome is not known, but on a hard
  // mount it is complete before what is written later; operation_not_supported; the server's.
  [[nodiscard]] std::errc Allocate(const protocol::Allocation& allocation);
  // copy_file_range(2) inside the server, of what was written before, too: the bytes that it has
  // copied onto its stable storage, 0 at the end of `source`. Preconditions: both are open in one
  // mount. Errors: as above; operation_not_supported where the caller is to read and write;
  // invalid_argument if what is copied would be copied over; an error of write-back of `source`.
  [[nodiscard]] Result<uint64_t> CopyFrom(FileData& source, protocol::CopiedRange range);
  // lseek(2) with SEEK_DATA or SEEK_HOLE, of what was written before, too. Where the server does
  // not say, all is data and the end is a hole. Errors: no_such_device_or_address.
  [[nodiscard]] Result<uint64_t> Seek(uint64_t offset_bytes, protocol::Content content);
  // fsync(2): returns when all data of the inode is on stable storage, whoever wrote it. Errors:
  // timed_out, operation_canceled, not_enough_memory, with nothing lost; those of write-back that
  // this file was not told, once.
  [[nodiscard]] std::errc Sync();
  // close(2) of one of several descriptors (nfs_file_flush()): the same, but for the error, which
  // Sync() and Write() of the others report, too.
  [[nodiscard]] std::errc SyncAtFlush();
  // Sync() at the end of the open file. What could not be written yet is written in background.
  [[nodiscard]] std::errc SyncAtClose();
  // SyncAtClose() of one that reports no error: the next opener is told.
  std::errc FlushAtEnd();

  nfs::Superblock& superblock;
  FileLockOwners lock_owners = {};

 private:
  Result<size_t> ReadSequentially(std::span<std::byte> into, uint64_t offset_bytes);
  Result<size_t> ReadFromServer(std::span<std::byte> into, uint64_t offset_bytes);
  Result<uint64_t> CopyLocked(FileData& source, const protocol::CopiedRange& range);
  Result<uint64_t> SizeNow(bool force);
  Result<size_t> WriteLocked(std::span<const std::byte> data, uint64_t offset_bytes);
  Result<uint64_t> FindEnd();
  void FlushIfFull() const;

  nfs::WriteErrors::Seen seen_;  // guarded by Superblock::write_errors
  ReadAhead ahead_ = {};         // destroyed before what it reads with
};

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_FILE_DATA_H_
