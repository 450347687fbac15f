// The calls of an open file, by its handle; reads and writes take an RPC a piece.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/file_state.h"
#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/change.h"
#include "rcu/fork.h"

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

// Leaves what lies behind the size that came with it, as a server may answer any offset with data
// (fs/nfs/read.c reads no further than i_size either).
void CutAtSize(protocol::ReadReply& reply, uint64_t offset_bytes) {
  const uint64_t size_bytes = reply.attributes->size_bytes;
  const uint64_t left = size_bytes - std::min(offset_bytes, size_bytes);
  if (reply.count_bytes > left) {
    reply.count_bytes = left;
    reply.eof = true;
  }
}

}  // namespace

File::File(std::unique_ptr<State> state) : state_(std::move(state)) {}
File::~File() {
  if (rcu::InForkedChild()) (void)state_.release();
}

Result<size_t> File::PRead(std::span<std::byte> into, uint64_t offset_bytes) {
  const auto& [superblock, inode, open, credential, mode] = *state_;
  const std::errc refused = CheckTransfer(mode, kMayRead, offset_bytes, into.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  size_t done = 0;
  while (done < into.size()) {
    const size_t piece = superblock.limits.read_bytes_max;
    const size_t bytes = ReadAtOnce(*inode, offset_bytes + done, into.size() - done, piece);
    auto stamp = nfs::Stamp(superblock);
    auto reply = superblock.protocol->ReadPieces(inode->handle(), offset_bytes + done,
                                                 into.subspan(done, bytes), piece, open.get(),
                                                 credential->key());
    if (reply.error == protocol::kStale) nfs::MarkStale(superblock, *inode);
    if (reply.error != std::errc{}) return std::unexpected(reply.error);
    if (!reply.attributes) {
      stamp = nfs::Stamp(superblock);
      const auto now = superblock.protocol->GetAttributes(inode->handle(), credential->key());
      if (now.error != std::errc{}) return std::unexpected(now.error);
      reply.attributes = now.attributes;
    }
    (void)nfs::UpdateAttributes(superblock, *inode, *reply.attributes, stamp);
    CutAtSize(reply, offset_bytes + done);
    done += reply.count_bytes;
    if (reply.eof || reply.count_bytes == 0) break;
  }
  return done;
}

// What PWrite() and Append() have checked.
Result<size_t> File::Write(std::span<const std::byte> data, uint64_t offset_bytes) {
  const auto& [superblock, inode, open, credential, mode] = *state_;
  const auto stamp = nfs::Stamp(superblock);
  const auto reply = superblock.protocol->WritePieces(inode->handle(), offset_bytes, data,
                                                      superblock.limits.write_bytes_max, open.get(),
                                                      credential->key());
  nfs::UpdateAfterOwnChange(superblock, *inode, reply.file, stamp, reply.error);
  if (reply.error == protocol::kStale) nfs::MarkStale(superblock, *inode);
  if (reply.error == std::errc{} || reply.count_bytes > 0) return reply.count_bytes;
  return std::unexpected(reply.error);
}

Result<size_t> File::PWrite(std::span<const std::byte> data, uint64_t offset_bytes) {
  const auto& [superblock, inode, open, credential, mode] = *state_;
  const std::errc refused = CheckTransfer(mode, kMayWrite, offset_bytes, data.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  if (data.empty()) return 0;
  return Write(data, offset_bytes);
}

Result<size_t> File::Append(std::span<const std::byte> data) {
  const auto& [superblock, inode, open, credential, mode] = *state_;
  const std::errc refused = CheckTransfer(mode, kMayWrite, 0, data.size());
  if (refused != std::errc{}) return std::unexpected(refused);
  if (superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  if (data.empty()) return 0;
  // i_rwsem, which generic_file_write_iter() holds over the size and the write.
  const auto lock = superblock.directory_locks.Lock(*inode);
  if (!lock) return std::unexpected(protocol::CallDeadline::Error());
  const std::errc error = nfs::Revalidate(superblock, *inode, credential->key(), /*force=*/true);
  if (error != std::errc{}) return std::unexpected(error);
  Attributes now;
  nfs::CopyAttributes(*inode, now);
  if (now.size_bytes > kFileBytesMax - data.size()) {
    return std::unexpected(std::errc::file_too_large);
  }
  return Write(data, now.size_bytes);
}

Result<Attributes> File::SetAttributesOf(const SetAttributes& attributes) {
  const auto& [superblock, inode, open, credential, mode] = *state_;
  const bool sizes = attributes.size_bytes.has_value();
  if (sizes && ((mode & kMayWrite) == 0 || *attributes.size_bytes > kFileBytesMax)) {
    return std::unexpected(std::errc::invalid_argument);
  }
  if (superblock.shut_down.load()) return std::unexpected(std::errc::operation_canceled);
  return nfs::ChangeAttributes(superblock, *inode, attributes, credential->key());
}

Attributes File::attributes() const {
  Attributes attributes;
  if (!rcu::InForkedChild()) nfs::CopyAttributes(*state_->inode, attributes);
  return attributes;
}

}  // namespace nfswalk
