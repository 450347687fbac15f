// The calls of an open file, by its handle.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "nfsclient/api/file_state.h"
#include "nfsclient/client.h"
#include "nfsclient/data/set_attributes.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/xattr.h"
#include "rcu/coarse_clock.h"
#include "rcu/fork.h"

namespace nfswalk {

namespace {

// Checks in the order of pread(2) and rw_verify_area(): the offset, the access mode, the end. The
// server checks its s_maxbytes.
std::errc CheckTransfer(uint32_t rights, uint32_t needed, uint64_t offset_bytes,
                        size_t size_bytes) {
  if (offset_bytes > kFileBytesMax) return std::errc::invalid_argument;
  if ((rights & needed) == 0) return std::errc::bad_file_descriptor;
  return size_bytes > kFileBytesMax - offset_bytes ? std::errc::invalid_argument : std::errc{};
}

}  // namespace

std::unique_ptr<File> File::Make(nfs::OpenContext context, nfs::Superblock& superblock,
                                 uint32_t rights) {
  const bool is_unchanged = nfs::NoteDataInUse(*context.inode);
  auto state = std::make_shared<State>(std::move(context), superblock, rights, is_unchanged);
  std::byte* const memory = state->file.data();
  return std::unique_ptr<File>(::new (memory) File(std::move(state)));
}

File::File(std::shared_ptr<State> state) : state_(std::move(state)) {}
File::~File() = default;

void File::operator delete(File* file, std::destroying_delete_t) {
  if (rcu::InForkedChild()) return;  // where nothing in it may be destroyed
  if ((file->state_->rights & kMayWrite) != 0) (void)file->state_->FlushAtEnd();
  file->ReleaseLocks();
  const std::shared_ptr<State> state = std::move(file->state_);
  file->~File();
}

Result<size_t> File::PRead(std::span<std::byte> into, uint64_t offset_bytes) {
  const std::errc refused = CheckTransfer(state_->rights, kMayRead, offset_bytes, into.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (state_->superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  return state_->Read(into, offset_bytes);
}

std::errc File::CheckWrite(uint64_t offset_bytes, size_t size_bytes) const {
  const std::errc refused = CheckTransfer(state_->rights, kMayWrite, offset_bytes, size_bytes);
  if (refused != std::errc{}) return refused;
  return state_->superblock.shut_down.load() ? std::errc::operation_canceled : std::errc{};
}

Result<size_t> File::PWrite(std::span<const std::byte> data, uint64_t offset_bytes) {
  const std::errc refused = CheckWrite(offset_bytes, data.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  return data.empty() ? 0 : state_->Write(data, offset_bytes);
}

Result<size_t> File::Append(std::span<const std::byte> data) {
  const std::errc refused = CheckWrite(0, data.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  return data.empty() ? 0 : state_->Append(data);
}

namespace {

// `error` of a file whose client may be shut down.
std::errc OutcomeOf(std::errc error, const nfs::Superblock& superblock) {
  const bool is_canceled = error == std::errc{} && superblock.shut_down.load();
  return is_canceled ? std::errc::operation_canceled : error;
}

}  // namespace

std::errc File::Sync() {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  return OutcomeOf(state_->Sync(), state_->superblock);
}

std::errc File::Flush() {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  return OutcomeOf(state_->SyncAtFlush(), state_->superblock);
}

void File::BeginClose() {
  // The data that was written through it holds it, too, until it is on stable storage.
  if (!rcu::InForkedChild() && state_.use_count() == 1) state_->inode.Discount();
}

std::errc File::Close() {
  if (rcu::InForkedChild()) return std::errc::operation_canceled;
  const std::errc error = (state_->rights & kMayWrite) == 0 ? std::errc{} : state_->SyncAtClose();
  ReleaseLocks();
  return error;
}

Result<Attributes> File::SetAttributesOf(const SetAttributes& attributes) {
  nfs::Superblock& superblock = state_->superblock;
  const bool sizes = attributes.size_bytes.has_value();
  if (sizes && ((state_->rights & kMayWrite) == 0 || *attributes.size_bytes > kFileBytesMax)) {
    return std::unexpected(std::errc::invalid_argument);
  }
  if (superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  return data::SetAttributesOf(superblock, *state_->inode, attributes, state_->credential->key());
}

Result<std::string> File::GetXattr(std::string_view name) const try {
  if (state_->superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  return nfs::GetXattr(state_->superblock, *state_->inode, name, state_->credential->key());
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

Result<std::vector<std::string>> File::ListXattrs() const try {
  if (state_->superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  return nfs::ListXattrs(state_->superblock, *state_->inode, state_->credential->key());
} catch (const std::bad_alloc&) {
  return std::unexpected(std::errc::not_enough_memory);
}

std::errc File::SetXattr(std::string_view name, std::string_view value, XattrMode how) try {
  if (state_->superblock.shut_down.load()) return std::errc::operation_canceled;
  return data::ChangeFlushed(state_->superblock, *state_->inode, [&] {
    return nfs::SetXattr(state_->superblock, *state_->inode, name, value, how,
                         state_->credential->key());
  });
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

// Checks in the order of vfs_fallocate().
std::errc File::ChangeSpace(const protocol::Allocation& allocation) {
  if (allocation.offset_bytes > kFileBytesMax || allocation.size_bytes == 0) {
    return std::errc::invalid_argument;
  }
  if ((state_->rights & kMayWrite) == 0) return std::errc::bad_file_descriptor;
  if (allocation.size_bytes > kFileBytesMax - allocation.offset_bytes) {
    return std::errc::file_too_large;
  }
  if (state_->superblock.shut_down.load()) return std::errc::operation_canceled;
  return state_->Allocate(allocation);
}

std::errc File::Allocate(uint64_t offset_bytes, uint64_t size_bytes) {
  return ChangeSpace({.offset_bytes = offset_bytes, .size_bytes = size_bytes});
}

std::errc File::PunchHole(uint64_t offset_bytes, uint64_t size_bytes) {
  return ChangeSpace({.offset_bytes = offset_bytes, .size_bytes = size_bytes, .is_hole = true});
}

// Checks in the order of generic_copy_file_checks().
Result<uint64_t> File::CopyFrom(const File& source, uint64_t source_offset_bytes,
                                uint64_t offset_bytes, uint64_t size_bytes) {
  State& from = *source.state_;
  if (rcu::InForkedChild() || state_->superblock.shut_down.load()) {
    return std::unexpected(std::errc::operation_canceled);
  }
  if ((state_->rights & kMayWrite) == 0 || (from.rights & kMayRead) == 0) {
    return std::unexpected(std::errc::bad_file_descriptor);
  }
  if (&from.superblock != &state_->superblock) {
    return std::unexpected(std::errc::cross_device_link);
  }
  if (source_offset_bytes > kFileBytesMax || offset_bytes > kFileBytesMax) {
    return std::unexpected(std::errc::invalid_argument);
  }
  if (size_bytes == 0) return 0;
  if (offset_bytes == kFileBytesMax) return std::unexpected(std::errc::file_too_large);
  size_bytes = std::min(size_bytes, kFileBytesMax - std::max(source_offset_bytes, offset_bytes));
  return state_->CopyFrom(from, {.source_offset_bytes = source_offset_bytes,
                                 .offset_bytes = offset_bytes,
                                 .size_bytes = size_bytes});
}

Result<uint64_t> File::Seek(uint64_t offset_bytes, Content content) const {
  if (rcu::InForkedChild() || state_->superblock.shut_down.load()) {
    return std::unexpected(std::errc::operation_canceled);
  }
  if (offset_bytes > kFileBytesMax) {
    return std::unexpected(std::errc::no_such_device_or_address);
  }
  return state_->Seek(offset_bytes, content);
}

bool File::is_unchanged() const { return state_->is_unchanged; }

std::optional<Attributes> File::cached_attributes() const {
  Attributes known;
  if (rcu::InForkedChild()) return std::nullopt;
  const nfs::NeedRef need = nfs::CopyFreshAttributesRcu(
      state_->superblock, *state_->inode, rcu::CoarseNowNs(), known, icache::kInvalidChange);
  return need == nfs::NeedRef::kNone ? std::optional(known) : std::nullopt;
}

Attributes File::attributes() const {
  Attributes attributes;
  if (rcu::InForkedChild()) return attributes;
  nfs::CopyAttributes(*state_->inode, attributes);
  return attributes;
}

}  // namespace nfswalk
