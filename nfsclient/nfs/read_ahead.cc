#include "nfsclient/nfs/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "rcu/coarse_clock.h"

namespace nfswalk::nfs {

using protocol::ReadReply;

void CutAtSize(ReadReply& reply, uint64_t offset_bytes) {
  const uint64_t size_bytes = reply.attributes->size_bytes;
  const uint64_t left = size_bytes - std::min(offset_bytes, size_bytes);
  if (reply.count_bytes < left) return;
  reply.count_bytes = left;
  reply.eof = true;
}

ReadAhead::Piece::Piece(Superblock& of, uint64_t offset, size_t bytes)
    : superblock(of), offset_bytes(offset), size(bytes), data(new std::byte[bytes]) {
  superblock.read_ahead_bytes.fetch_add(size);
}
ReadAhead::Piece::~Piece() {
  under_way = nullptr;  // it writes to `data`
  superblock.read_ahead_bytes.fetch_sub(size);
}

size_t ReadAhead::TryRead(const Source& source, std::span<std::byte> into, uint64_t offset_bytes,
                          bool& eof) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || pieces_.empty()) return 0;
  if (offset_bytes != last_end_bytes_ || !IsUsable(source)) {
    pieces_.clear();
    return 0;
  }
  size_t done = 0;
  while (done < into.size() && !pieces_.empty() && !eof) {
    Piece& piece = pieces_.front();
    const uint64_t from = offset_bytes + done;
    if (from < piece.offset_bytes) break;  // another reader has taken what was before it
    if (!Finish(source, piece)) {
      pieces_.clear();
      break;
    }
    const uint64_t at = from - piece.offset_bytes;
    const uint64_t left = piece.count_bytes - std::min<uint64_t>(at, piece.count_bytes);
    const size_t count = std::min<uint64_t>(into.size() - done, left);
    if (count != 0) std::memcpy(into.data() + done, piece.data.get() + at, count);
    done += count;
    if (count < left) break;
    eof = piece.eof && at <= piece.count_bytes;  // else another reader has gone past it
    const bool is_short = piece.count_bytes < piece.size;
    pieces_.pop_front();
    if (is_short) pieces_.clear();
  }
  return done;
}

// Not after a write of our own, or where attributes that came since, or that are not valid any
// more, may have made it old.
bool ReadAhead::IsUsable(const Source& source) const {
  if (source.superblock.dirty_files.Writes(source.inode) != writes_) return false;
  if ((source.inode.flags.load() & icache::kStale) != 0) return false;
  if (HasInvalid(source.inode, icache::kInvalidChange)) return false;
  protocol::Attributes now;
  return !attributes_ ||
         (CopyAttributesRcu(source.inode, now) && !ContentChanged(now, *attributes_));
}

// Returns whether the piece may be shown.
bool ReadAhead::Finish(const Source& source, Piece& piece) {
  if (piece.under_way != nullptr) {
    ReadReply reply;
    try {
      reply = piece.under_way->Finish();
    } catch (const std::bad_alloc&) {
      reply.error = std::errc::not_enough_memory;
    }
    piece.under_way = nullptr;
    if (reply.error != std::errc{} || !reply.attributes) return false;
    if (attributes_ && ContentChanged(*attributes_, *reply.attributes)) return false;
    attributes_ = reply.attributes;
    CutAtSize(reply, piece.offset_bytes);
    piece.count_bytes = reply.count_bytes;
    piece.eof = reply.eof;
    (void)UpdateAttributes(source.superblock, source.inode, *reply.attributes, piece.stamp);
    if (!IsUsable(source)) return false;
  }
  return rcu::CoarseNowNs() - piece.stamp.sent_at_ns < source.superblock.acregmin_ns;
}

void ReadAhead::HasRead(const Source& source, uint64_t offset_bytes, size_t wanted_bytes,
                        size_t count_bytes, bool eof) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const bool is_sequential =
      offset_bytes == std::exchange(last_end_bytes_, offset_bytes + count_bytes);
  if (!is_sequential || eof || count_bytes == 0 || wanted_bytes > kWindowMax) {
    pieces_.clear();
    window_bytes_ = 0;
    return;
  }
  window_bytes_ = std::min(kWindowMax, 2 * std::max(window_bytes_, wanted_bytes));
  Extend(source);
}

void ReadAhead::Extend(const Source& source) try {
  Superblock& superblock = source.superblock;
  protocol::Attributes known;
  if (superblock.acregmin_ns == 0 || !CopyAttributesRcu(source.inode, known)) return;
  if (pieces_.empty() || ahead_bytes_ < last_end_bytes_) {
    pieces_.clear();
    ahead_bytes_ = last_end_bytes_;
    writes_ = superblock.dirty_files.Writes(source.inode);
    attributes_.reset();
  }
  const uint64_t end = std::min(known.size_bytes, last_end_bytes_ + window_bytes_);
  const size_t piece_bytes = superblock.limits.read_bytes_max;
  while (ahead_bytes_ < end &&
         superblock.read_ahead_bytes.load() < superblock.dirty_files.bytes_max()) {
    const size_t bytes = std::min<uint64_t>(piece_bytes, end - ahead_bytes_);
    // No small piece where the next read makes room for a whole one.
    const bool is_last = ahead_bytes_ + bytes == known.size_bytes;
    if (bytes < piece_bytes && !is_last && !pieces_.empty()) return;
    Piece& piece = pieces_.emplace_back(superblock, ahead_bytes_, bytes);
    piece.stamp = Stamp(superblock);
    piece.under_way =
        superblock.protocol->StartRead(source.inode.handle(), ahead_bytes_,
                                       {piece.data.get(), bytes}, source.open, source.credential);
    if (piece.under_way == nullptr) {
      pieces_.pop_back();
      return;
    }
    ahead_bytes_ += bytes;
  }
} catch (const std::bad_alloc&) {
  if (!pieces_.empty() && pieces_.back().under_way == nullptr && pieces_.back().count_bytes == 0) {
    pieces_.pop_back();
  }
}

}  // namespace nfswalk::nfs
