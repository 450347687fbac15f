#include "nfsclient/data/file_data.h"

#include <algorithm>
#include <new>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/byte_range.h"
#include "nfsclient/protocol/call_deadline.h"
#include "rcu/sync_point.h"

namespace nfswalk::data {

using protocol::Attributes;
using protocol::CallDeadline;
using protocol::kOk;
using Until = WriteBack::Until;

namespace {

// How much of `wanted_bytes` to read at once: no piece behind the known end of the file.
size_t ReadAtOnce(const icache::Inode& inode, uint64_t offset_bytes, size_t wanted_bytes,
                  size_t piece_bytes) {
  if (wanted_bytes <= piece_bytes) return wanted_bytes;
  Attributes known;
  const bool is_known = nfs::CopyAttributesRcu(inode, known) && known.size_bytes > offset_bytes;
  const uint64_t left = is_known ? known.size_bytes - offset_bytes : 0;
  return static_cast<size_t>(std::clamp<uint64_t>(left, piece_bytes, wanted_bytes));
}

}  // namespace

auto FileData::Read(std::span<std::byte> into, uint64_t offset_bytes) -> Result<size_t> {
  const auto write_back = nfs::HasValidityBits(*inode, icache::kRetained)
                              ? superblock.dirty_files.Find(*inode)
                              : nullptr;
  if (write_back == nullptr) return ReadSequentially(into, offset_bytes);
  ExtentMap::Read read(offset_bytes, into.size());
  const bool has_all = write_back->BeginRead(read);
  const auto count = has_all ? Result<size_t>(0) : ReadFromServer(into, offset_bytes);
  const size_t shown = write_back->EndRead(read, into, count.value_or(0));
  return count ? Result<size_t>(shown) : count;
}

// Reads what was read ahead, the rest from the server.
auto FileData::ReadSequentially(std::span<std::byte> into, uint64_t offset_bytes)
    -> Result<size_t> {
  const ReadAhead::Source source{superblock, *inode, open.get(), credential->key()};
  bool eof = false;
  size_t done = ahead_.TryRead(source, into, offset_bytes, eof);
  NFSWALK_SYNC_POINT("file:read-ahead-taken");
  if (done < into.size() && !eof) {
    const auto rest = ReadFromServer(into.subspan(done), offset_bytes + done);
    if (!rest) return rest;
    eof = *rest < into.size() - done;
    done += *rest;
  }
  ahead_.HasRead(source, offset_bytes, into.size(), done, eof);
  return done;
}

auto FileData::ReadFromServer(std::span<std::byte> into, uint64_t offset_bytes) -> Result<size_t> {
  const sunrpc_auth::Credential& who = credential->key();
  size_t done = 0;
  while (done < into.size()) {
    if (CallDeadline::HasPassed()) return std::unexpected(CallDeadline::Error());
    const size_t piece = superblock.limits.read_bytes_max;
    const size_t bytes = ReadAtOnce(*inode, offset_bytes + done, into.size() - done, piece);
    auto stamp = nfs::Stamp(superblock);
    auto reply = superblock.protocol->ReadPieces(inode->handle(), offset_bytes + done,
                                                 into.subspan(done, bytes), piece, open.get(), who);
    if (reply.error == protocol::kStale) nfs::MarkStale(superblock, *inode);
    if (reply.error != kOk) return std::unexpected(reply.error);
    if (!reply.attributes) {
      stamp = nfs::Stamp(superblock);
      const auto now = superblock.protocol->GetAttributes(inode->handle(), who);
      if (now.error != kOk) return std::unexpected(now.error);
      reply.attributes = now.attributes;
    }
    (void)nfs::UpdateAttributes(superblock, *inode, *reply.attributes, stamp);
    CutAtSize(reply, offset_bytes + done);
    done += reply.count_bytes;
    if (reply.eof || reply.count_bytes == 0) break;
  }
  return done;
}

// balance_dirty_pages(): before the file's i_rwsem, as others' are taken. A writer writes back its
// own file first: writers that all wait for each other's files keep the server idle.
void FileData::FlushIfFull() const {
  if (!superblock.dirty_files.IsFull()) return;
  if (const auto write_back = superblock.dirty_files.Find(*inode)) {
    (void)write_back->LockAndFlush(Until::kCommitted);
  }
  for (const auto& write_back : superblock.dirty_files.All()) {
    if (!superblock.dirty_files.IsFull()) return;
    (void)write_back->LockAndFlush(Until::kCommitted);
  }
}

// Preconditions: the file's i_rwsem.
auto FileData::WriteLocked(std::span<const std::byte> data, uint64_t offset_bytes)
    -> Result<size_t> {
  std::errc error = superblock.write_errors.CheckAndAdvance(*inode, seen_);
  if (error == kOk && open != nullptr && lock_owners.had_any()) {
    error = superblock.protocol->ConfirmLocks(*open);
  }
  if (error != kOk) return std::unexpected(error);
  superblock.dirty_files.NoteWrite(*inode);
  const auto write_back = WriteBack::Of(superblock, *inode);
  const size_t taken = write_back->Write(data, offset_bytes, shared_from_this(), error);
  superblock.dirty_files.NoteWrite(*inode);
  if (error == kOk && superblock.options.sync) {
    error = write_back->Flush(Until::kCommitted);
    if (error == kOk) error = superblock.write_errors.CheckAndAdvance(*inode, seen_);
    if (error != kOk) return std::unexpected(error);
  }
  if (taken > 0 || error == kOk) return taken;
  return std::unexpected(error);
}

auto FileData::Write(std::span<const std::byte> data, uint64_t offset_bytes) -> Result<size_t> try {
  FlushIfFull();
  // i_rwsem, as generic_file_write_iter() has it.
  const RwsemGuard lock(superblock, *inode);
  if (!lock) return std::unexpected(CallDeadline::Error());
  return WriteLocked(data, offset_bytes);
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

std::errc FileData::Allocate(const protocol::Allocation& allocation) try {
  if (!superblock.protocol->can_allocate()) return std::errc::operation_not_supported;
  const RwsemGuard lock(superblock, *inode);
  if (!lock) return CallDeadline::Error();
  if (open != nullptr && lock_owners.had_any()) {
    const std::errc error = superblock.protocol->ConfirmLocks(*open);
    if (error != kOk) return error;
  }
  return WriteBack::Of(superblock, *inode)->Allocate(allocation, shared_from_this());
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

auto FileData::CopyFrom(FileData& source, protocol::CopiedRange range) -> Result<uint64_t> try {
  // As much as a server copies in a moment, and a caller may have to wait for.
  constexpr uint64_t kCopyBytesMax = 16 * 1024 * 1024;
  const Result<uint64_t> reads = std::unexpected(std::errc::operation_not_supported);  // the caller
  // The server is asked by one identity for both.
  const bool is_of_one = credential->key() == source.credential->key();
  if (!superblock.protocol->can_copy() || !is_of_one) return reads;
  const auto size = source.SizeNow(/*force=*/false);
  if (!size) return size;
  const uint64_t left = *size - std::min(*size, range.source_offset_bytes);
  range.size_bytes = std::min({range.size_bytes, left, kCopyBytesMax});
  if (range.size_bytes == 0) return 0;
  const uint64_t apart = std::max(range.source_offset_bytes, range.offset_bytes) -
                         std::min(range.source_offset_bytes, range.offset_bytes);
  if (&*source.inode == &*inode && apart < range.size_bytes) {
    return std::unexpected(std::errc::invalid_argument);
  }
  // After the size was taken, which is that of what is here as well. A server that restarts loses
  // what was not committed.
  std::errc error = FlushWrites(superblock, *source.inode, Until::kCommitted);
  if (error == kOk) error = superblock.write_errors.Peek(*source.inode, source.seen_);
  if (error != kOk) return std::unexpected(error);
  Result<uint64_t> copied = CopyLocked(source, range);
  // Another client has cut the source, or seems to have.
  const bool is_cut = copied ? *copied == 0 : copied.error() == std::errc::invalid_argument;
  if (!is_cut) return copied;
  const auto now = source.SizeNow(/*force=*/true);
  if (!now) return now;
  return *now <= range.source_offset_bytes ? 0 : reads;
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

auto FileData::CopyLocked(FileData& source, const protocol::CopiedRange& range)
    -> Result<uint64_t> {
  const RwsemGuard lock(superblock, *inode);
  if (!lock) return std::unexpected(CallDeadline::Error());
  for (FileData* const end : {&source, this}) {
    if (end->open == nullptr || !end->lock_owners.had_any()) continue;
    const std::errc error = superblock.protocol->ConfirmLocks(*end->open);
    if (error != kOk) return std::unexpected(error);
  }
  return WriteBack::Of(superblock, *inode)
      ->Copy(source.shared_from_this(), range, shared_from_this());
}

// `force`: asks the server, too, if the attributes are fresh.
auto FileData::SizeNow(bool force) -> Result<uint64_t> {
  const std::errc error = nfs::RevalidateInode(superblock, *inode, credential->key(), force);
  if (error != kOk) return std::unexpected(error);
  Attributes now;
  nfs::CopyAttributes(*inode, now);
  return now.size_bytes;
}

auto FileData::Seek(uint64_t offset_bytes, protocol::Content content) -> Result<uint64_t> {
  // A server that has restarted has holes where it has lost what was not committed.
  std::errc error = FlushWrites(superblock, *inode, Until::kCommitted);
  if (error != kOk) return std::unexpected(error);
  const sunrpc_auth::Credential& who = credential->key();
  const auto reply =
      superblock.protocol->Seek(inode->handle(), offset_bytes, content, open.get(), who);
  if (reply.error == protocol::kStale) nfs::MarkStale(superblock, *inode);
  if (reply.error == kOk) {
    const bool is_sane =
        reply.offset_bytes >= offset_bytes && reply.offset_bytes <= protocol::ByteRange::kEnd;
    return is_sane ? Result<uint64_t>(reply.offset_bytes) : std::unexpected(std::errc::io_error);
  }
  if (reply.error != std::errc::operation_not_supported) return std::unexpected(reply.error);
  // generic_file_llseek().
  const auto size = SizeNow(/*force=*/false);
  if (size && offset_bytes >= *size) {
    return std::unexpected(std::errc::no_such_device_or_address);
  }
  return size && content == protocol::Content::kData ? offset_bytes : size;
}

// The end of the file on the server, or of what was written here and that it may lose.
// Preconditions: the file's i_rwsem.
auto FileData::FindEnd() -> Result<uint64_t> {
  const auto write_back = superblock.dirty_files.Find(*inode);
  if (write_back != nullptr) {
    const std::errc error = write_back->Flush(Until::kWritten);
    if (error != kOk) return std::unexpected(error);
  }
  const nfs::SendStamp stamp = nfs::Stamp(superblock);
  const auto now = superblock.protocol->GetAttributes(inode->handle(), credential->key());
  NFSWALK_SYNC_POINT("append:after-getattr");
  if (now.error == protocol::kStale) nfs::MarkStale(superblock, *inode);
  if (now.error != kOk) return std::unexpected(now.error);
  // No change of the size by this client is in flight, so this is its end, whatever the caches hold.
  const uint64_t own_end = write_back != nullptr ? write_back->own_end() : 0;
  const std::errc error =
      nfs::UpdateAttributes(superblock, *inode, now.attributes, stamp, nullptr, own_end);
  if (error != kOk) return std::unexpected(error);
  const uint64_t end = std::max(now.attributes.size_bytes, own_end);
  nfs::CutSize(*inode, end);
  return end;
}

auto FileData::Append(std::span<const std::byte> data) -> Result<size_t> try {
  FlushIfFull();
  const RwsemGuard lock(superblock, *inode);
  if (!lock) return std::unexpected(CallDeadline::Error());
  const auto end = FindEnd();
  if (!end) return std::unexpected(end.error());
  if (*end > protocol::ByteRange::kEnd - data.size())
    return std::unexpected(std::errc::file_too_large);
  return WriteLocked(data, *end);
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

std::errc FileData::Sync() {
  const auto write_back = superblock.dirty_files.Find(*inode);
  const std::errc error = write_back != nullptr ? write_back->LockAndFlush(Until::kCommitted) : kOk;
  return error != kOk ? error : superblock.write_errors.CheckAndAdvance(*inode, seen_);
}

std::errc FileData::SyncAtFlush() {
  const auto write_back = superblock.dirty_files.Find(*inode);
  const std::errc error = write_back != nullptr ? write_back->LockAndFlush(Until::kCommitted) : kOk;
  return error != kOk ? error : superblock.write_errors.Check(*inode, seen_);
}

std::errc FileData::SyncAtClose() {
  const std::errc error = FlushAtEnd();
  return error != kOk ? error : superblock.write_errors.CheckAndAdvance(*inode, seen_);
}

std::errc FileData::FlushAtEnd() {
  auto write_back = superblock.dirty_files.Find(*inode);
  if (write_back == nullptr) return {};
  const std::errc error = write_back->LockAndFlush(Until::kCommitted);
  if (error != kOk && !superblock.shut_down.load()) {
    FlushInBackground(superblock, std::move(write_back));
  }
  return error;
}

}  // namespace nfswalk::data
