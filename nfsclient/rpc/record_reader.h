// record_reader: the records of a TCP stream (RFC 5531 11, record marking).
//
// A record of one fragment stays where it was received. One of several is moved together in place,
// each byte once. A fragment without bytes that is not the last one, and a record that is longer
// than allowed, end the stream.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_RPC_RECORD_READER_H_
#define NFSWALK_NFSCLIENT_RPC_RECORD_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "nfsclient/rpc/reply_buffer.h"

namespace nfswalk::rpc {

class RecordReader {
 public:
  // The buffers that are reused. Longer records have a buffer of their own.
  static constexpr size_t kBufferBytes = (1 << 20) + (16 << 10);
  // A stream's first buffer: all that many connections need (portmapper, MOUNT, a few calls).
  static constexpr size_t kFirstBufferBytes = 16 << 10;

  enum class Next {
    kIncomplete,
    kRecord,
    kTooLong,  // the record's first kHeadBytes: the rest is not received
    kEmptyFragment,
  };
  static constexpr size_t kHeadBytes = 8;
  // A part of a record is placed if at least as much of it is to come; less is copied.
  static constexpr size_t kPlacedBytesMin = 32 << 10;

  // Forgets what was received, for a new stream.
  void Reset();
  // Returns where to receive to; empty if there is no memory.
  std::span<std::byte> Space();
  // `bytes` were received there.
  void Received(size_t bytes) {
    if (place_.empty()) {
      end_ += bytes;
    } else {
      place_ = place_.subspan(bytes);
      fragment_left_ -= bytes;
    }
  }

  // Returns what there is of a record whose last fragment is in flight, if much of it is still to
  // come; else nothing.
  std::span<const std::byte> Unfinished() const {
    const bool worth = in_record_ && last_ && !too_long_ && !skip_ && !has_placed_ &&
                       fragment_left_ >= kPlacedBytesMin;
    return worth ? buffer_.bytes().subspan(record_, assembled_ - record_)
                 : std::span<const std::byte>();
  }
  // Receives the next bytes of it into `place`, which must live until they have come or
  // StopPlacing(). The record is taken without them. Returns false if it has fewer.
  bool Place(std::span<std::byte> place) {
    if (place.size() > fragment_left_) return false;
    place_ = place;
    placed_at_ = assembled_ - record_;
    has_placed_ = true;
    return true;
  }
  bool is_placing() const { return !place_.empty(); }
  // Returns how many bytes of the fragment are to come.
  size_t missing_bytes() const { return fragment_left_ - std::min(fragment_left_, end_ - raw_); }
  // The offset at which they are missing in the last record that was taken.
  size_t placed_at() const { return placed_at_; }
  // Does not take the record that is in flight, if a part of it was placed.
  void StopPlacing() {
    skip_ = has_placed_;
    place_ = {};
  }
  // Takes the next record. `record_bytes_max()`: the longest one that may come now; called for a
  // fragment that makes the record longer than kSmallBytes and than it said before, so once for
  // most records, however many fragments they have.
  template <typename BytesMax>
  Next Take(ReplySlice& record, BytesMax record_bytes_max) {
    for (;;) {
      if (!MoveFragment()) return Next::kIncomplete;
      if (in_record_ && last_) {
        in_record_ = false;
        has_placed_ = false;
        if (std::exchange(skip_, false)) continue;
        record = buffer_.Part(record_, assembled_ - record_);
        return too_long_ ? Next::kTooLong : Next::kRecord;
      }
      uint32_t mark;
      if (!TakeMark(mark)) return Next::kIncomplete;
      if (!BeginFragment(mark)) return Next::kEmptyFragment;
      const size_t bytes = assembled_ - record_ + fragment_left_;
      if (bytes <= bytes_max_) continue;
      bytes_max_ = record_bytes_max();
      if (bytes > bytes_max_) CutToHead();
    }
  }

 private:
  static constexpr size_t kSmallBytes = 4096;
  // Less space than this is not worth a recv(2).
  static constexpr size_t kSpaceBytesMin = 4096;

  bool MoveFragment();
  bool TakeMark(uint32_t& mark);
  bool BeginFragment(uint32_t mark);
  void CutToHead();
  bool Relocate();

  ReplySlice buffer_;
  ReplySlice spare_;
  // Offsets in buffer_: the record, as far as it is assembled; then bytes that are not parsed yet.
  size_t record_ = 0;
  size_t assembled_ = 0;
  size_t raw_ = 0;
  size_t end_ = 0;
  bool in_record_ = false;
  bool last_ = false;  // the fragment is the record's last one
  bool too_long_ = false;
  size_t bytes_max_ = kSmallBytes;  // the record's length that was allowed
  size_t fragment_left_ = 0;        // of the fragment, not yet assembled
  std::span<std::byte> place_;      // for the next bytes
  size_t placed_at_ = 0;
  bool has_placed_ = false;  // of the record that is in flight
  bool skip_ = false;        // that record is not to be taken
};

}  // namespace nfswalk::rpc

#endif  // NFSWALK_NFSCLIENT_RPC_RECORD_READER_H_
