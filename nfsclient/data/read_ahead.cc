#include "nfsclient/data/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::data {

using nfs::ContentChanged;
using nfs::CopyAttributesRcu;
using nfs::HasValidityBits;
using nfs::Superblock;
using protocol::Attributes;
using protocol::ReadReply;

void CutAtSize(ReadReply& reply, uint64_t offset_bytes) {
  const uint64_t size_bytes = reply.attributes->size_bytes;
  const uint64_t left = size_bytes - std::min(offset_bytes, size_bytes);
  if (reply.count_bytes < left) return;
  reply.count_bytes = left;
  reply.eof = true;
}

ReadAhead::Memory::Memory(std::atomic<size_t>& all_bytes, size_t bytes)
    : size(bytes), data(protocol::NewDataMemory(bytes)), all_bytes_(all_bytes) {
  if (data == nullptr) throw std::bad_alloc();
  all_bytes_.fetch_add(size);
}
ReadAhead::Memory::~Memory() { all_bytes_.fetch_sub(size); }

ReadAhead::Piece::Piece(const Source& source, uint64_t offset, OwnedMemory with)
    : offset_bytes(offset),
      size(with->size),
      writes(source.superblock.dirty_files.Writes(source.inode)),
      stamp(nfs::Stamp(source.superblock)),
      memory(std::move(with)) {}

bool ReadAhead::Piece::IsUsable(const Source& source) const {
  if (source.superblock.dirty_files.Writes(source.inode) != writes) return false;
  if ((source.inode.flags.load() & icache::kStale) != 0) return false;
  if (HasValidityBits(source.inode, icache::kInvalidChange)) return false;
  if (rcu::CoarseNowNs() - stamp.sent_at_ns >= source.superblock.acregmin_ns) return false;
  Attributes now;
  return !attributes || (CopyAttributesRcu(source.inode, now) && !ContentChanged(now, *attributes));
}

bool ReadAhead::Piece::Finish(const Source& source) {
  std::optional<ReadReply> reply = in_flight->Finish();
  if (!reply) return false;
  in_flight = nullptr;
  failed = reply->error != std::errc{} || !reply->attributes;
  if (failed) return true;
  CutAtSize(*reply, offset_bytes);
  count_bytes = reply->count_bytes;
  eof = reply->eof;
  attributes = reply->attributes;
  (void)nfs::UpdateAttributes(source.superblock, source.inode, *reply->attributes, stamp);
  return true;
}

size_t ReadAhead::TryRead(const Source& source, std::span<std::byte> into, uint64_t offset_bytes,
                          bool& eof) {
  size_t done = 0;
  while (done < into.size() && !eof) {
    auto piece = FindFinished(source, offset_bytes + done);
    if (piece == nullptr) break;
    const uint64_t at = offset_bytes + done - piece->offset_bytes;
    const uint64_t left = piece->count_bytes - std::min<uint64_t>(at, piece->count_bytes);
    const size_t count = std::min<uint64_t>(into.size() - done, left);
    NFSWALK_SYNC_POINT("read-ahead:before-copy");
    if (count != 0) std::memcpy(into.data() + done, piece->memory->data.get() + at, count);
    done += count;
    eof = piece->eof && at + count == piece->count_bytes;
    {
      const std::lock_guard lock(mutex_);  // before TakeMemory() fills what was copied
      piece.reset();
    }
    if (count == 0) break;
  }
  return done;
}

// Finishes a piece that may be shown, or waits for the thread that does. Returns false where the
// thread's time ends before; the next reader goes on then.
bool ReadAhead::AwaitFinished(std::unique_lock<std::mutex>& lock, const Source& source,
                              Piece& piece) {
  using State = Piece::State;
  while (piece.state != State::kFinished) {
    if (piece.state == State::kInFlight) {
      if (!piece.IsUsable(source)) return true;
      if (protocol::CallDeadline::HasPassed()) return false;
      piece.state = State::kFinishing;
      lock.unlock();
      NFSWALK_SYNC_POINT("read-ahead:before-finish");
      const bool has_come = piece.Finish(source);
      lock.lock();
      piece.state = has_come ? State::kFinished : State::kInFlight;
      finished_.notify_all();
      if (!has_come) return false;
    } else {
      NFSWALK_SYNC_POINT("read-ahead:before-wait");
      if (!protocol::WaitUntil(finished_, lock, protocol::CallDeadline::Current(),
                               [&] { return piece.state != State::kFinishing; })) {
        return false;
      }
    }
  }
  return true;
}

// The piece that holds the byte, with its reply; null where there is none that may be shown.
std::shared_ptr<ReadAhead::Piece> ReadAhead::FindFinished(const Source& source,
                                                          uint64_t offset_bytes) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find_if(pieces_, [offset_bytes](const auto& piece) {
    return offset_bytes >= piece->offset_bytes && offset_bytes - piece->offset_bytes < piece->size;
  });
  if (found == pieces_.end()) return nullptr;
  const std::shared_ptr<Piece> piece = *found;
  if (!AwaitFinished(lock, source, *piece)) return nullptr;
  const bool has_come = piece->state == Piece::State::kFinished && !piece->failed;
  lock.unlock();
  if (has_come && piece->IsUsable(source)) return piece;
  DropAll();
  return nullptr;
}

// Preconditions: mutex_.
bool ReadAhead::IsInOrder(uint64_t offset_bytes) const {
  if (offset_bytes == last_end_bytes_) return true;
  return window_bytes_ != 0 && offset_bytes <= ahead_bytes_ &&
         last_end_bytes_ - std::min(offset_bytes, last_end_bytes_) <= window_bytes_;
}

// Drops pieces that were taken whole, or that no reader comes back to. Preconditions: mutex_.
void ReadAhead::DropTaken(uint64_t offset_bytes, uint64_t end_bytes, Pieces& dropped) {
  for (auto next = pieces_.begin(); next != pieces_.end();) {
    const auto at = next++;
    Piece& piece = **at;
    const uint64_t piece_end = piece.offset_bytes + piece.size;
    const uint64_t from = std::max(offset_bytes, piece.offset_bytes);
    const uint64_t to = std::min(end_bytes, piece_end);
    if (from < to) piece.taken_bytes += to - from;
    const bool is_taken =
        piece.state == Piece::State::kFinished && piece.taken_bytes >= piece.count_bytes;
    if (is_taken || piece_end + window_bytes_ < last_end_bytes_) {
      dropped.splice(dropped.end(), pieces_, at);
    }
  }
}

void ReadAhead::DropAll() {
  Pieces dropped;  // waits for what is in flight
  const std::lock_guard lock(mutex_);
  dropped.swap(pieces_);
  ahead_bytes_ = 0;
}

void ReadAhead::HasRead(const Source& source, uint64_t offset_bytes, size_t wanted_bytes,
                        size_t count_bytes, bool eof) {
  Pieces dropped;  // waits for what is in flight
  const std::lock_guard lock(mutex_);
  const uint64_t end_bytes = offset_bytes + count_bytes;
  if (!IsInOrder(offset_bytes) || count_bytes == 0 || wanted_bytes > kWindowMax) {
    dropped.swap(pieces_);
    last_end_bytes_ = end_bytes;
    ahead_bytes_ = window_bytes_ = 0;
    return;
  }
  last_end_bytes_ = std::max(last_end_bytes_, end_bytes);
  window_bytes_ = std::min(kWindowMax, 2 * std::max(window_bytes_, wanted_bytes));
  DropTaken(offset_bytes, end_bytes, dropped);
  if (!eof) Extend(source, dropped);
}

// Takes the memory of a piece that was dropped and is not read any more, which has its pages; where
// there is none, new memory. Returns null at the limit. Preconditions: mutex_.
ReadAhead::OwnedMemory ReadAhead::TakeMemory(Superblock& superblock, size_t bytes,
                                             Pieces& dropped) {
  for (const auto& piece : dropped) {
    const bool is_ours = piece.use_count() == 1 && piece->state == Piece::State::kFinished;
    if (is_ours && piece->memory != nullptr && piece->size == bytes) {
      return std::move(piece->memory);
    }
  }
  const size_t most = superblock.dirty_files.bytes_max() / kPartOfLimit;
  if (superblock.read_ahead_bytes.load() >= most) return nullptr;
  return std::make_unique<Memory>(superblock.read_ahead_bytes, bytes);
}

// Preconditions: mutex_.
void ReadAhead::Extend(const Source& source, Pieces& dropped) try {
  Superblock& superblock = source.superblock;
  protocol::Attributes known;
  if (superblock.acregmin_ns == 0 || !CopyAttributesRcu(source.inode, known)) return;
  ahead_bytes_ = std::max(ahead_bytes_, last_end_bytes_);
  const uint64_t end = std::min(known.size_bytes, last_end_bytes_ + window_bytes_);
  const size_t piece_bytes = superblock.limits.read_bytes_max;
  while (ahead_bytes_ < end) {
    const size_t bytes = std::min<uint64_t>(piece_bytes, end - ahead_bytes_);
    // No small piece where the next read makes room for a whole one.
    const bool is_last = ahead_bytes_ + bytes == known.size_bytes;
    if (bytes < piece_bytes && !is_last && !pieces_.empty()) return;
    OwnedMemory memory = TakeMemory(superblock, bytes, dropped);
    if (memory == nullptr) return;
    Pieces next{std::make_shared<Piece>(source, ahead_bytes_, std::move(memory))};
    Piece& piece = *next.front();
    piece.in_flight = superblock.protocol->StartRead(source.inode.handle(), ahead_bytes_,
                                                     {piece.memory->data.get(), bytes},
                                                     source.open, source.credential);
    if (piece.in_flight == nullptr) return;
    pieces_.splice(pieces_.end(), next);
    ahead_bytes_ += bytes;
  }
} catch (const std::bad_alloc&) {
}

}  // namespace nfswalk::data
