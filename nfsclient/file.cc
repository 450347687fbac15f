// The calls of an open file, by its handle.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/file_state.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/change.h"
#include "nfsclient/nfs/dirty_data.h"
#include "nfsclient/protocol/call_deadline.h"
#include "rcu/coarse_clock.h"
#include "rcu/fork.h"
#include "rcu/sync_point.h"

namespace nfswalk {

namespace {

// pread(2), pwrite(2): an offset that is no off_t before the access mode, an end that is none after
// it, as rw_verify_area() has it. What fits is the server's to judge.
std::errc CheckTransfer(uint32_t mode, uint32_t needed, uint64_t offset_bytes, size_t size_bytes) {
  if (offset_bytes > kFileBytesMax) return std::errc::invalid_argument;
  if ((mode & needed) == 0) return std::errc::bad_file_descriptor;
  return size_bytes > kFileBytesMax - offset_bytes ? std::errc::invalid_argument : std::errc{};
}

// How much of `wanted_bytes` to read at once: where the file is known to end sooner, pieces behind
// that would be sent in vain.
size_t ReadAtOnce(const icache::Inode& inode, uint64_t offset_bytes, size_t wanted_bytes,
                  size_t piece_bytes) {
  if (wanted_bytes <= piece_bytes) return wanted_bytes;
  Attributes known;
  const bool is_known = nfs::CopyAttributesRcu(inode, known) && known.size_bytes > offset_bytes;
  const uint64_t left = is_known ? known.size_bytes - offset_bytes : 0;
  return static_cast<size_t>(std::clamp<uint64_t>(left, piece_bytes, wanted_bytes));
}

}  // namespace

std::unique_ptr<File> File::Make(nfs::OpenContext context, nfs::Superblock& superblock,
                                 uint32_t mode) {
  const bool is_unchanged = nfs::NoteDataInUse(*context.inode);
  auto state = std::make_shared<State>(std::move(context), superblock, mode, is_unchanged);
  std::byte* const memory = state->file.data();
  return std::unique_ptr<File>(::new (memory) File(std::move(state)));
}

File::File(std::shared_ptr<State> state) : state_(std::move(state)) {}
File::~File() = default;

void File::operator delete(File* file, std::destroying_delete_t) {
  if (rcu::InForkedChild()) return;  // where nothing in it may be destroyed
  (void)file->Close();
  const std::shared_ptr<State> state = std::move(file->state_);
  file->~File();
}

Result<size_t> File::PRead(std::span<std::byte> into, uint64_t offset_bytes) {
  const std::errc refused = CheckTransfer(state_->mode, kMayRead, offset_bytes, into.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (state_->superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  const auto retained = nfs::HasInvalid(*state_->inode, icache::kRetained)
                            ? state_->superblock.dirty_files.Find(*state_->inode)
                            : nullptr;
  if (retained == nullptr) return ReadSequentially(into, offset_bytes);
  const uint64_t read = retained->BeginRead();
  const bool has_all = retained->HasAll(read, offset_bytes, into.size());
  const auto count = has_all ? Result<size_t>(0) : Read(into, offset_bytes);
  const size_t shown = retained->EndRead(read, into, offset_bytes, count.value_or(0));
  return count ? Result<size_t>(shown) : count;
}

// Reads what was read ahead, the rest from the server.
Result<size_t> File::ReadSequentially(std::span<std::byte> into, uint64_t offset_bytes) {
  const nfs::ReadAhead::Source source{state_->superblock, *state_->inode, state_->open.get(),
                                      state_->credential->key()};
  bool eof = false;
  size_t done = state_->ahead.TryRead(source, into, offset_bytes, eof);
  NFSWALK_SYNC_POINT("file:read-ahead-taken");
  if (done < into.size() && !eof) {
    const auto rest = Read(into.subspan(done), offset_bytes + done);
    if (!rest) return rest;
    eof = *rest < into.size() - done;
    done += *rest;
  }
  state_->ahead.HasRead(source, offset_bytes, into.size(), done, eof);
  return done;
}

// Reads from the server.
Result<size_t> File::Read(std::span<std::byte> into, uint64_t offset_bytes) {
  nfs::Superblock& superblock = state_->superblock;
  icache::Inode& inode = *state_->inode;
  const Credential& who = state_->credential->key();
  size_t done = 0;
  while (done < into.size()) {
    if (protocol::CallDeadline::HasPassed()) {
      return std::unexpected(protocol::CallDeadline::Error());
    }
    const size_t piece = superblock.limits.read_bytes_max;
    const size_t bytes = ReadAtOnce(inode, offset_bytes + done, into.size() - done, piece);
    auto stamp = nfs::Stamp(superblock);
    auto reply =
        superblock.protocol->ReadPieces(inode.handle(), offset_bytes + done,
                                        into.subspan(done, bytes), piece, state_->open.get(), who);
    if (reply.error == protocol::kStale) nfs::MarkStale(superblock, inode);
    if (reply.error != std::errc{}) return std::unexpected(reply.error);
    if (!reply.attributes) {
      stamp = nfs::Stamp(superblock);
      const auto now = superblock.protocol->GetAttributes(inode.handle(), who);
      if (now.error != std::errc{}) return std::unexpected(now.error);
      reply.attributes = now.attributes;
    }
    (void)nfs::UpdateAttributes(superblock, inode, *reply.attributes, stamp);
    nfs::CutAtSize(reply, offset_bytes + done);
    done += reply.count_bytes;
    if (reply.eof || reply.count_bytes == 0) break;
  }
  return done;
}

std::errc File::CheckWrite(uint64_t offset_bytes, size_t size_bytes) const {
  const std::errc refused = CheckTransfer(state_->mode, kMayWrite, offset_bytes, size_bytes);
  if (refused != std::errc{}) return refused;
  nfs::Superblock& superblock = state_->superblock;
  if (superblock.shut_down.load()) return std::errc::operation_canceled;
  // balance_dirty_pages(): before the inode's lock, as others' are taken.
  if (!superblock.dirty_files.IsFull()) return {};
  for (const auto& data : superblock.dirty_files.All()) {
    (void)data->LockAndFlush(nfs::DirtyData::Until::kCommitted);
  }
  return {};
}

// What PWrite() and Append() have checked. Preconditions: the inode's lock.
Result<size_t> File::Write(std::span<const std::byte> data, uint64_t offset_bytes) {
  State& state = *state_;
  if (state.dirty == nullptr) {
    state.dirty = nfs::DirtyData::Of(state.superblock, *state.inode);
    state.seen = state.dirty->errors().Sample();
  }
  std::errc error = state.dirty->errors().CheckAndAdvance(state.seen);
  if (error != std::errc{}) return std::unexpected(error);
  state.superblock.dirty_files.NoteWrite(*state.inode);
  const size_t taken = state.dirty->Write(data, offset_bytes, state_, error);
  if (error == std::errc{} && state.superblock.options.sync) {
    error = state.dirty->Flush(nfs::DirtyData::Until::kCommitted);
    if (error == std::errc{}) error = state.dirty->errors().CheckAndAdvance(state.seen);
    if (error != std::errc{}) return std::unexpected(error);
  }
  if (taken > 0 || error == std::errc{}) return taken;
  return std::unexpected(error);
}

Result<size_t> File::PWrite(std::span<const std::byte> data, uint64_t offset_bytes) try {
  const std::errc refused = CheckWrite(offset_bytes, data.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (data.empty()) return 0;
  // i_rwsem, as generic_file_write_iter() has it.
  const auto lock = state_->superblock.directory_locks.Lock(*state_->inode);
  if (!lock) return std::unexpected(protocol::CallDeadline::Error());
  return Write(data, offset_bytes);
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

Result<size_t> File::Append(std::span<const std::byte> data) try {
  const std::errc refused = CheckWrite(0, data.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (data.empty()) return 0;
  nfs::Superblock& superblock = state_->superblock;
  icache::Inode& inode = *state_->inode;
  const auto lock = superblock.directory_locks.Lock(inode);
  if (!lock) return std::unexpected(protocol::CallDeadline::Error());
  std::errc error{};
  if (const auto written = superblock.dirty_files.Find(inode)) {
    error = written->Flush(nfs::DirtyData::Until::kWritten);
  }
  if (error == std::errc{}) {
    error = nfs::Revalidate(superblock, inode, state_->credential->key(), /*force=*/true);
  }
  if (error != std::errc{}) return std::unexpected(error);
  Attributes now;
  nfs::CopyAttributes(inode, now);
  if (now.size_bytes > kFileBytesMax - data.size()) {
    return std::unexpected(std::errc::file_too_large);
  }
  return Write(data, now.size_bytes);
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

// Until all data of the inode is on stable storage; reports what its write-back met.
std::errc File::Flush() {
  State& state = *state_;
  std::shared_ptr<nfs::DirtyData> data = state.superblock.dirty_files.Find(*state.inode);
  if (data == nullptr) return {};
  const auto lock = state.superblock.directory_locks.Lock(*state.inode);
  if (!lock) return protocol::CallDeadline::Error();
  if (state.dirty == nullptr) {
    state.dirty = std::move(data);
    state.seen = state.dirty->errors().Sample();
  }
  const std::errc error = state.dirty->Flush(nfs::DirtyData::Until::kCommitted);
  return error != std::errc{} ? error : state.dirty->errors().CheckAndAdvance(state.seen);
}

std::errc File::Sync() {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  const std::errc error = Flush();
  const bool is_canceled = error == std::errc{} && state_->superblock.shut_down.load();
  return is_canceled ? std::errc::operation_canceled : error;
}

std::errc File::Close() {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  const std::errc error = FlushAtClose();
  ReleaseLocks();
  return error;
}

std::errc File::FlushAtClose() {
  if (state_->dirty == nullptr) return {};
  const std::errc error = Flush();
  // The data that is left, if any, refers to this state.
  const std::shared_ptr<nfs::DirtyData> data = std::move(state_->dirty);
  if (error != std::errc{} && !state_->superblock.shut_down.load()) {
    nfs::FlushInBackground(state_->superblock, data);
  }
  return error;
}

Result<Attributes> File::SetAttributesOf(const SetAttributes& attributes) {
  nfs::Superblock& superblock = state_->superblock;
  const bool sizes = attributes.size_bytes.has_value();
  if (sizes && ((state_->mode & kMayWrite) == 0 || *attributes.size_bytes > kFileBytesMax)) {
    return std::unexpected(std::errc::invalid_argument);
  }
  if (superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  return nfs::ChangeAttributes(superblock, *state_->inode, attributes, state_->credential->key());
}

bool File::is_unchanged() const { return state_->is_unchanged; }

std::optional<Attributes> File::cached_attributes() const {
  const bool is_valid =
      !rcu::InForkedChild() &&
      nfs::AttributesFresh(*state_->inode, rcu::CoarseNowNs(), icache::kInvalidChange);
  return is_valid ? std::optional(attributes()) : std::nullopt;
}

Attributes File::attributes() const {
  Attributes attributes;
  if (rcu::InForkedChild()) return attributes;
  nfs::CopyAttributes(*state_->inode, attributes);
  if (!nfs::HasInvalid(*state_->inode, icache::kRetained)) return attributes;
  if (const auto data = state_->superblock.dirty_files.Find(*state_->inode)) {
    attributes.size_bytes = std::max(attributes.size_bytes, data->end_bytes());
  }
  return attributes;
}

}  // namespace nfswalk
