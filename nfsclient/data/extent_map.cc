#include "nfsclient/data/extent_map.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <new>

namespace nfswalk::data {

namespace {

constexpr size_t kLeastBufferBytes = 4096;
constexpr size_t kBufferGrowth = 4;

}  // namespace

auto ExtentMap::FirstOverlap(uint64_t begin) -> Extents::iterator {
  const auto at = extents_.upper_bound(begin);
  if (at == extents_.begin()) return at;
  const auto before = std::prev(at);
  return before->second.end() > begin ? before : at;
}

auto ExtentMap::FirstOverlap(uint64_t begin) const -> Extents::const_iterator {
  return const_cast<ExtentMap*>(this)->FirstOverlap(begin);
}

auto ExtentMap::FindObstacle(uint64_t begin, uint64_t end, const Context& context) -> Extent* {
  for (auto at = FirstOverlap(begin); at != extents_.end() && at->second.begin < end; ++at) {
    const Extent& extent = at->second;
    if (extent.state == State::kKept) continue;
    if (extent.state == State::kWriting || extent.context != context) return &at->second;
  }
  return nullptr;
}

void ExtentMap::SetFileEnd(uint64_t file_end_bytes) {
  assert(live_ == 0);
  own_end_ = 0;
  sparse_from_ = file_end_bytes;
}

size_t ExtentMap::Write(uint64_t offset_bytes, std::span<const std::byte> data,
                        const Context& context) {
  assert(!data.empty());
  data = data.first(std::min(data.size(), piece_bytes_));
  const auto after = extents_.upper_bound(offset_bytes);
  if (after != extents_.begin()) {
    Extent& before = std::prev(after)->second;
    const bool is_of_opener = before.state == State::kDirty && before.context == context;
    if (is_of_opener && offset_bytes < before.end()) {
      data = data.first(std::min<uint64_t>(data.size(), before.end() - offset_bytes));
      std::memcpy(before.bytes().data() + (offset_bytes - before.begin), data.data(), data.size());
      return data.size();
    }
    if (is_of_opener && offset_bytes == before.end() && before.size < piece_bytes_) {
      return Extend(before, data.first(std::min(data.size(), piece_bytes_ - before.size)));
    }
  }
  Extents fresh;
  Extent& extent = fresh.try_emplace(offset_bytes, offset_bytes).first->second;
  extent.buffer =
      std::make_shared<Buffer>(charged_bytes_, std::max(data.size(), kLeastBufferBytes));
  extent.context = context;
  std::memcpy(extent.buffer->data(), data.data(), data.size());
  Remove(offset_bytes, offset_bytes + data.size());
  extents_.merge(fresh);
  ++live_;
  dirty_.insert(extent);
  Resize(extent, data.size());
  own_end_ = std::max(own_end_, extent.end());
  return data.size();
}

// Appends to a dirty extent.
size_t ExtentMap::Extend(Extent& extent, std::span<const std::byte> data) {
  std::shared_ptr<Buffer> buffer = BufferFor(extent, data.size());
  Remove(extent.end(), extent.end() + data.size());
  if (buffer != extent.buffer) extent.at = 0;
  extent.buffer = std::move(buffer);
  std::memcpy(extent.bytes().data() + extent.size, data.data(), data.size());
  Resize(extent, extent.size + data.size());
  own_end_ = std::max(own_end_, extent.end());
  return data.size();
}

// The extent's buffer, or one with the same bytes, with room for more behind them.
std::shared_ptr<Buffer> ExtentMap::BufferFor(const Extent& extent, size_t more_bytes) {
  const size_t needed = extent.size + more_bytes;
  if (extent.at == 0 && extent.buffer.use_count() == 1 && needed <= extent.buffer->size()) {
    return extent.buffer;
  }
  const size_t bytes = std::max(needed, std::min(piece_bytes_, kBufferGrowth * needed));
  auto buffer = std::make_shared<Buffer>(charged_bytes_, bytes);
  std::memcpy(buffer->data(), extent.bytes().data(), extent.size);
  return buffer;
}

void ExtentMap::JoinDirty() try {
  for (Extent* extent = NextDirty(); extent != nullptr;) {
    const auto next = extents_.upper_bound(extent->begin);
    if (next == extents_.end()) return;
    Extent& second = next->second;
    const bool joins = second.state == State::kDirty && second.begin == extent->end() &&
                       second.context == extent->context &&
                       second.must_be_stable == extent->must_be_stable &&
                       extent->size + second.size <= piece_bytes_;
    if (!joins) {
      extent = NextDirty(extent->begin + 1);
      continue;
    }
    std::shared_ptr<Buffer> buffer = BufferFor(*extent, second.size);
    std::memcpy(buffer->data() + extent->size, second.bytes().data(), second.size);
    const size_t size = extent->size + second.size;
    Erase(next);
    extent->at = 0;
    extent->buffer = std::move(buffer);
    Resize(*extent, size);
  }
} catch (const std::bad_alloc&) {
}

auto ExtentMap::NextDirty(uint64_t begin) -> Extent* {
  const auto at = dirty_.lower_bound(begin);
  return at == dirty_.end() ? nullptr : &*at;
}

auto ExtentMap::FindGaps(uint64_t begin, uint64_t end, const Context& context) const
    -> std::array<std::optional<Range>, 2> {
  const auto is_of_opener = [&](const Extent& extent) {
    return extent.state == State::kDirty && extent.context == context;
  };
  std::array<std::optional<Range>, 2> gaps;
  const auto at = extents_.lower_bound(begin);
  if (at != extents_.begin()) {
    const Extent& before = std::prev(at)->second;
    if (is_of_opener(before) && before.end() < begin && IsSparse(before.end())) {
      gaps[0] = {before.end(), begin};
    }
  }
  const auto next = FirstOverlap(end);
  if (next != extents_.end() && is_of_opener(next->second) && next->second.begin > end &&
      IsSparse(end)) {
    gaps[1] = {end, next->second.begin};
  }
  return gaps;
}

void ExtentMap::StartWrite(Extent& extent) {
  assert(extent.state == State::kDirty);
  SetState(extent, State::kWriting);
  sparse_from_ = std::max(sparse_from_, extent.end());
}

void ExtentMap::Written(Extent& extent, size_t count_bytes, bool is_stable, uint64_t verifier) {
  assert(extent.state == State::kWriting && count_bytes > 0 && count_bytes <= extent.size);
  if (count_bytes < extent.size) {
    const auto rest = Split(extents_.find(extent.begin), extent.begin + count_bytes);
    SetState(rest->second, State::kDirty);
  }
  if (is_stable) return Drop(extent);
  extent.verifier = verifier;
  extent.written = ++last_written_;
  SetState(extent, State::kUnstable);
}

void ExtentMap::NotWritten(Extent& extent) {
  assert(extent.state == State::kWriting);
  SetState(extent, State::kDirty);
}

void ExtentMap::Refused(Extent& extent) {
  assert(extent.state == State::kWriting || extent.state == State::kUnstable);
  Erase(extents_.find(extent.begin));
  own_end_ = 0;
  for (auto at = extents_.rbegin(); at != extents_.rend() && own_end_ == 0; ++at) {
    if (at->second.state != State::kKept) own_end_ = at->second.end();
  }
}

auto ExtentMap::UnstableContext() const -> Context {
  const auto at = std::ranges::find_if(
      extents_, [](const auto& entry) { return entry.second.state == State::kUnstable; });
  return at == extents_.end() ? nullptr : at->second.context;
}

void ExtentMap::Committed(uint64_t last_written, uint64_t verifier) {
  for (auto next = extents_.begin(); next != extents_.end();) {
    Extent& extent = next++->second;
    if (extent.state != State::kUnstable || extent.written > last_written) continue;
    if (extent.verifier == verifier) {
      Drop(extent);
    } else {
      extent.must_be_stable = true;
      SetState(extent, State::kDirty);
    }
  }
}

void ExtentMap::CommitRefused(uint64_t last_written) {
  for (auto next = extents_.begin(); next != extents_.end();) {
    Extent& extent = next++->second;
    if (extent.state == State::kUnstable && extent.written <= last_written) Refused(extent);
  }
}

void ExtentMap::Truncate(uint64_t size_bytes) {
  assert(live_ == 0);  // what is kept is for reads that began before
  for (Read& read : reads_) read.own_end_ = std::min(read.own_end_, size_bytes);
}

void ExtentMap::BeginRead(Read& read) {
  read.number_ = ++reads_begun_;
  read.own_end_ = own_end();
  reads_.push_back(read);
}

bool ExtentMap::HasAll(const Read& read, uint64_t file_end_bytes, bool only_ours) const {
  const uint64_t end = std::min(read.end(), file_end_bytes);
  uint64_t at = read.offset_bytes_;
  for (auto next = FirstOverlap(at); at < end && next != extents_.end(); ++next) {
    const Extent& extent = next->second;
    if (!IsShown(extent, read)) return false;
    if (extent.begin > at && !(only_ours && IsSparse(at))) return false;
    at = extent.end();
  }
  return at >= end || (only_ours && IsSparse(at) && end <= own_end_);
}

size_t ExtentMap::EndRead(Read& read, std::span<std::byte> into, size_t count_bytes) {
  const uint64_t offset = read.offset_bytes_;
  uint64_t end = std::min(read.own_end_, read.end());
  if (end > offset + count_bytes) {
    std::ranges::fill(into.subspan(count_bytes, end - offset - count_bytes), std::byte{0});
    count_bytes = end - offset;
  }
  end = offset + count_bytes;
  reads_.erase(reads_.iterator_to(read));
  for (auto next = FirstOverlap(offset); next != extents_.end();) {
    const auto at = next++;
    const Extent& extent = at->second;
    if (extent.begin >= read.end()) break;
    if (IsShown(extent, read) && extent.begin < end) {
      const uint64_t first = std::max(extent.begin, offset);
      const uint64_t last = std::min(extent.end(), end);
      std::memcpy(into.data() + (first - offset), extent.bytes().data() + (first - extent.begin),
                  last - first);
    }
    if (extent.state == State::kKept && !IsNeeded(extent)) Erase(at);
  }
  return count_bytes;
}

// Leaves nothing in [begin, end). Splits one extent at most, before it changes anything.
void ExtentMap::Remove(uint64_t begin, uint64_t end) {
  const auto last = FirstOverlap(end);
  if (last != extents_.end() && last->second.begin < end) (void)Split(last, end);
  for (auto next = FirstOverlap(begin); next != extents_.end() && next->second.begin < end;) {
    const auto at = next++;
    Extent& extent = at->second;
    assert(extent.state != State::kWriting);
    if (extent.begin < begin) {
      Resize(extent, begin - extent.begin);
    } else {
      Erase(at);
    }
  }
  // Drops what is left of data that was kept for reads of the rest.
  for (auto next = FirstOverlap(begin == 0 ? 0 : begin - 1);
       next != extents_.end() && next->second.begin <= end;) {
    const auto at = next++;
    if (at->second.state == State::kKept && !IsNeeded(at->second)) Erase(at);
  }
}

// Returns the part from `offset_bytes` on, which is inside the extent.
auto ExtentMap::Split(Extents::iterator at, uint64_t offset_bytes) -> Extents::iterator {
  Extent& extent = at->second;
  assert(extent.begin < offset_bytes && offset_bytes < extent.end());
  const auto added = extents_.try_emplace(std::next(at), offset_bytes, offset_bytes);
  Extent& rest = added->second;
  const size_t first_bytes = offset_bytes - extent.begin;
  rest.at = extent.at + first_bytes;
  rest.buffer = extent.buffer;
  rest.context = extent.context;
  rest.state = extent.state;
  rest.must_be_stable = extent.must_be_stable;
  rest.verifier = extent.verifier;
  rest.written = extent.written;
  rest.last_read = extent.last_read;
  const size_t rest_bytes = extent.size - first_bytes;
  Resize(extent, first_bytes);
  Resize(rest, rest_bytes);
  if (rest.state != State::kKept) ++live_;
  if (rest.state == State::kDirty) dirty_.insert(rest);
  return added;
}

void ExtentMap::Erase(Extents::iterator at) {
  Extent& extent = at->second;
  Resize(extent, 0);
  if (extent.state != State::kKept) --live_;
  if (extent.dirty_hook_.is_linked()) dirty_.erase(dirty_.iterator_to(extent));
  extents_.erase(at);
}

void ExtentMap::SetState(Extent& extent, State state) {
  const size_t size = extent.size;
  Resize(extent, 0);
  if (extent.dirty_hook_.is_linked()) dirty_.erase(dirty_.iterator_to(extent));
  if (extent.state != State::kKept && state == State::kKept) --live_;
  extent.state = state;
  if (state == State::kDirty) dirty_.insert(extent);
  Resize(extent, size);
}

void ExtentMap::Resize(Extent& extent, size_t size_bytes) {
  if (extent.state == State::kDirty) dirty_bytes_ += size_bytes - extent.size;
  if (extent.state == State::kUnstable) unstable_bytes_ += size_bytes - extent.size;
  extent.size = size_bytes;
}

// The server has it on stable storage.
void ExtentMap::Drop(Extent& extent) {
  assert(extent.end() <= own_end_);
  extent.last_read = reads_begun_;
  if (!IsNeeded(extent)) return Erase(extents_.find(extent.begin));
  SetState(extent, State::kKept);
  extent.context = nullptr;
}

bool ExtentMap::IsNeeded(const Extent& extent) const {
  return std::ranges::any_of(reads_, [&](const Read& read) { return read.Needs(extent); });
}

}  // namespace nfswalk::data
