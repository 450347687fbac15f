#include "nfsclient/rpc/record_reader.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace nfswalk::rpc {
namespace {

constexpr uint32_t kLastFragment = 0x80000000;
constexpr size_t kMarkBytes = 4;

}  // namespace

void RecordReader::Reset() {
  record_ = assembled_ = raw_ = end_ = 0;
  in_record_ = last_ = too_long_ = false;
  fragment_left_ = 0;
  place_ = {};
  has_placed_ = skip_ = false;
  if (!buffer_.empty() && !buffer_.is_unique()) buffer_ = {};
}

std::span<std::byte> RecordReader::Space() {
  if (is_placing()) return place_;
  if (raw_ == end_) {
    // Nothing unparsed: the next bytes may follow the assembled ones, or begin anew.
    if (!in_record_ && !buffer_.empty() && buffer_.is_unique()) assembled_ = 0;
    if (!in_record_) record_ = assembled_;
    raw_ = end_ = assembled_;
  }
  const size_t needed = in_record_ ? fragment_left_ : kSpaceBytesMin;
  if (buffer_.bytes().size() - end_ < std::max(needed - std::min(needed, end_ - raw_), size_t{1}) &&
      !Relocate()) {
    return {};
  }
  return buffer_.bytes().subspan(end_);
}

// Moves the record and what is unparsed into a buffer with enough space for the fragment.
bool RecordReader::Relocate() {
  const size_t assembled = in_record_ ? assembled_ - record_ : 0;
  const size_t raw = end_ - raw_;
  size_t needed = assembled + std::max(fragment_left_, raw) + kSpaceBytesMin;
  // Twice of what is there: many small fragments are copied a bounded number of times each.
  if (needed > kBufferBytes) needed = std::max(needed, 2 * assembled + kSpaceBytesMin);
  const bool reuse = needed <= kBufferBytes && !spare_.empty() && spare_.is_unique();
  const size_t least = buffer_.empty() ? kFirstBufferBytes : kBufferBytes;
  ReplySlice larger = reuse ? std::move(spare_) : ReplySlice::Allocate(std::max(needed, least));
  if (larger.empty()) return false;
  if (assembled != 0) std::memcpy(larger.bytes().data(), &buffer_.bytes()[record_], assembled);
  if (raw != 0) std::memcpy(&larger.bytes()[assembled], &buffer_.bytes()[raw_], raw);
  if (buffer_.bytes().size() == kBufferBytes) spare_ = std::move(buffer_);
  buffer_ = std::move(larger);
  record_ = 0;
  assembled_ = raw_ = assembled;
  end_ = assembled + raw;
  return true;
}

// Appends what came of the fragment to the record. Returns whether it is complete.
bool RecordReader::MoveFragment() {
  const size_t bytes = std::min(fragment_left_, end_ - raw_);
  if (bytes != 0 && raw_ != assembled_) {
    std::memmove(&buffer_.bytes()[assembled_], &buffer_.bytes()[raw_], bytes);
  }
  assembled_ += bytes;
  raw_ += bytes;
  fragment_left_ -= bytes;
  return fragment_left_ == 0;
}

bool RecordReader::TakeMark(uint32_t& mark) {
  if (end_ - raw_ < kMarkBytes) return false;
  std::memcpy(&mark, &buffer_.bytes()[raw_], kMarkBytes);
  mark = ntohl(mark);
  raw_ += kMarkBytes;
  return true;
}

bool RecordReader::BeginFragment(uint32_t mark) {
  if (!in_record_) {
    record_ = assembled_ = raw_;
    bytes_max_ = kSmallBytes;
  }
  in_record_ = true;
  last_ = (mark & kLastFragment) != 0;
  fragment_left_ = mark & ~kLastFragment;
  return last_ || fragment_left_ != 0;
}

void RecordReader::CutToHead() {
  const size_t assembled = assembled_ - record_;
  too_long_ = last_ = true;
  fragment_left_ = kHeadBytes - std::min(kHeadBytes, assembled);
}

}  // namespace nfswalk::rpc
