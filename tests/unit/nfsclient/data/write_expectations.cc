#include "tests/unit/nfsclient/data/write_expectations.h"

#include <algorithm>

namespace nfswalk::data {

namespace {

std::string Text(std::span<const std::byte> bytes) {
  std::string text = "[";
  for (const std::byte value : bytes) text += " " + std::to_string(static_cast<unsigned>(value));
  return text + " ]";
}

}  // namespace

WriteExpectations::WriteExpectations(const Bytes& content) {
  now_.values.fill(1);
  for (size_t i = 0; i < content.size(); ++i) now_.values[i] = SetOf(content[i]);
  now_.end_min = now_.end_max = held_end_min_ = content.size();
  held_ = now_.values;
  written_ = now_.values;
  for (size_t i = 0; i < kBytesMax; ++i) {
    written_[i] |= 1;
    may_be_hole_[i] = i >= content.size();
  }
}

void WriteExpectations::Fail(std::string_view text) {
  if (violation_.empty()) violation_ = text;
}

void WriteExpectations::Add(size_t at, Values values) {
  now_.values[at] |= values;
  for (Shown& read : reads_) read.values[at] |= values;
  held_[at] |= values;
  written_[at] |= values;
}

void WriteExpectations::GrowEndMax(size_t end) {
  now_.end_max = std::max(now_.end_max, end);
  for (Shown& read : reads_) read.end_max = std::max(read.end_max, end);
}

void WriteExpectations::ShrinkEndMin(size_t end) {
  now_.end_min = std::min(now_.end_min, end);
  for (Shown& read : reads_) read.end_min = std::min(read.end_min, end);
}

void WriteExpectations::Writing(size_t offset, std::span<const std::byte> data) {
  for (size_t i = 0; i < data.size(); ++i) {
    for (Shown& read : reads_) read.values[offset + i] |= SetOf(data[i]);
    held_[offset + i] |= SetOf(data[i]);
    written_[offset + i] |= SetOf(data[i]);
  }
  // Even a write that ends in an error may have filled the gap before it with zeros.
  for (size_t i = 0; i < offset; ++i) may_be_filled_[i] |= may_be_hole_[i];
  GrowEndMax(offset);
  for (Shown& read : reads_) read.end_max = std::max(read.end_max, offset + data.size());
}

void WriteExpectations::Wrote(size_t offset, std::span<const std::byte> data, size_t taken_bytes) {
  for (size_t i = 0; i < taken_bytes; ++i) {
    now_.values[offset + i] = SetOf(data[i]);
    may_be_hole_[offset + i] = may_be_filled_[offset + i] = is_lost_[offset + i] = false;
  }
  if (taken_bytes == 0) return;
  GrowEndMax(offset + taken_bytes);
  now_.end_min = std::max(now_.end_min, offset + taken_bytes);
}

void WriteExpectations::Cutting(size_t size) {
  for (size_t i = size; i < kBytesMax; ++i) {
    Add(i, 1);
    may_be_hole_[i] = true;
  }
  GrowEndMax(size);
  ShrinkEndMin(size);
  held_end_min_ = std::min(held_end_min_, size);
}

void WriteExpectations::Cut(size_t size) {
  for (size_t i = size; i < kBytesMax; ++i) now_.values[i] = 1;
  now_.end_min = now_.end_max = size;
}

void WriteExpectations::BeginRead() { reads_.push_back(now_); }

void WriteExpectations::EndRead(std::span<const std::byte> shown) {
  const Shown read = reads_.back();
  reads_.pop_back();
  if (shown.size() < read.end_min) Fail("P1: a read ends before own data: " + Text(shown));
  if (shown.size() > read.end_max) Fail("P1: a read ends behind all data: " + Text(shown));
  for (size_t i = 0; i < shown.size(); ++i) {
    if ((read.values[i] & SetOf(shown[i])) != 0) continue;
    Fail("P1: a read shows a wrong byte " + std::to_string(i) + " in " + Text(shown));
  }
}

void WriteExpectations::Synced(const Bytes& current, const Bytes& stable) {
  const bool is_lost = std::ranges::find(is_lost_, true) != is_lost_.end();
  if (current != stable && !is_lost) {
    Fail("P2: unstable after fsync: " + Text(current) + Text(stable));
  }
  if (stable.size() < now_.end_min) Fail("P2: too short after fsync: " + Text(stable));
  for (size_t i = 0; i < stable.size(); ++i) {
    if ((now_.values[i] & SetOf(stable[i])) != 0) continue;
    Fail("P2: wrong byte " + std::to_string(i) + " after fsync: " + Text(stable));
  }
  for (size_t i = 0; i < kBytesMax; ++i) {
    if (is_lost_[i]) continue;
    // Zeros may go out where the client does not know of what another has written.
    const Values zero = may_be_hole_[i] ? 1 : 0;
    now_.values[i] = held_[i] = zero | (i < stable.size() ? SetOf(stable[i]) : 1);
  }
  now_.end_max = std::max(current.size(), stable.size());
  held_end_min_ = std::min(current.size(), stable.size());
}

void WriteExpectations::CheckSize(size_t size) {
  const bool fits = now_.end_min <= size && size <= now_.end_max;
  Require(fits, "P5: the size is shown as " + std::to_string(size));
}

void WriteExpectations::ChangedByOther(size_t at, std::byte value) {
  Add(at, SetOf(value));
  GrowEndMax(at + 1);
}

void WriteExpectations::Sent(size_t offset, std::span<const std::byte> data) {
  for (size_t i = 0; i < data.size(); ++i) {
    const size_t at = offset + i;
    const bool is_zero = data[i] == std::byte{0};
    const bool is_right = is_zero ? may_be_filled_[at] : (written_[at] & SetOf(data[i])) != 0;
    if (is_right) continue;
    Fail("P3: a WRITE at " + std::to_string(offset) + " carries " + Text(data));
  }
}

void WriteExpectations::Refused(size_t begin, size_t end, size_t server_size) {
  for (size_t i = begin; i < end; ++i) {
    Add(i, written_[i]);
    is_lost_[i] = true;
  }
  if (end >= now_.end_min) ShrinkEndMin(std::min(begin, server_size));
  for (size_t i = begin; i < kBytesMax; ++i) may_be_hole_[i] = true;
}

void WriteExpectations::SizeShown(size_t size, const Bytes& current) {
  for (size_t i = 0; i < std::min(size, current.size()); ++i) {
    if (current[i] != std::byte{0}) may_be_hole_[i] = false;
  }
}

void WriteExpectations::SizeLost(size_t size) {
  for (size_t i = size; i < kBytesMax; ++i) may_be_hole_[i] |= now_.end_min <= i;
}

void WriteExpectations::CheckHeld(std::string_view where, const Bytes& bytes) {
  const std::string in = " in the server's " + std::string(where) + Text(bytes);
  if (bytes.size() < held_end_min_) Fail("P2: lost the end" + in);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if ((held_[i] & SetOf(bytes[i])) != 0) continue;
    Fail("P2: lost byte " + std::to_string(i) + in);
  }
}

void WriteExpectations::CheckServer(const Bytes& current, const Bytes& stable) {
  CheckHeld("file ", current);
  CheckHeld("stable storage ", stable);
}

}  // namespace nfswalk::data
