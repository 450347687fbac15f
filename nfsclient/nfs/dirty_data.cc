#include "nfsclient/nfs/dirty_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/protocol/wire_limits.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::nfs {

using icache::Inode;
using protocol::Stability;
using protocol::WrittenReply;

namespace {

// WRITEs of one file under way. With pieces of 1 MiB they keep 1 GB/s busy at 16 ms.
constexpr size_t kUnderWayMax = 16;
// Extents that are not full and wait for more, of one file.
constexpr size_t kPartialMax = 64;
constexpr size_t kLeastBufferBytes = 4096;
constexpr size_t kBufferGrowth = 4;
constexpr size_t kPageBytes = 4096;

// An error of this client's and not of the data, which stays dirty: it was answered, or its
// connection has ended.
bool IsInterruption(std::errc error) { return error == std::errc::not_enough_memory; }

// Returns whether `a` shows a later state than `b` of a file that is only written to. Times may be
// as coarse as the server's clock tick; version 3 has no change attribute.
bool IsLater(const protocol::Attributes& a, const protocol::Attributes& b) {
  const auto order = [](const protocol::Attributes& of) {
    return std::tuple(of.ctime.seconds, of.ctime.nanoseconds, of.size_bytes, of.change);
  };
  return order(a) > order(b);
}

}  // namespace

std::shared_ptr<DirtyData> DirtyData::Of(Superblock& superblock, Inode& inode) {
  return superblock.dirty_files.FindOrMake(
      inode, [&] { return std::shared_ptr<DirtyData>(new DirtyData(superblock, inode)); });
}

DirtyData::DirtyData(Superblock& superblock, Inode& inode)
    : superblock_(superblock), inode_(icache::Hold(inode)) {}

// What could not be flushed is lost here, reported by the Close() of who wrote it.
DirtyData::~DirtyData() {
  superblock_.dirty_files.Erase(*inode_);
  if (live_ == 0) return;
  SetInvalid(*inode_, icache::kInvalidDirty | icache::kRetained, false);
  InvalidateAttributes(superblock_, *inode_);
}

size_t DirtyData::Write(std::span<const std::byte> data, uint64_t offset_bytes,
                        const std::shared_ptr<const OpenContext>& context, std::errc& error) {
  DirtyFiles& files = superblock_.dirty_files;
  size_t taken = 0;
  while (taken < data.size() && error == std::errc{}) {
    error = KeepUnstableLimit();
    if (error == std::errc{} && files.IsFull()) error = Flush(Until::kCommitted);
    if (error != std::errc{}) break;
    taken += WriteChunk(data.subspan(taken), offset_bytes + taken, context, error);
    if (error == std::errc{}) error = SendFull();
  }
  // What lacks memory or time to be sent is only late; other errors go to errors().
  if (taken > 0) error = {};
  return taken;
}

// Returns the bytes taken. 0 without an error: the extents have changed meanwhile.
size_t DirtyData::WriteChunk(std::span<const std::byte> data, uint64_t offset_bytes,
                             const std::shared_ptr<const OpenContext>& context,
                             std::errc& error) try {
  const size_t piece = superblock_.limits.write_bytes_max;
  data = data.first(std::min(data.size(), piece));
  auto before = extents_.upper_bound(offset_bytes);
  if (before != extents_.begin()) {
    Extent& extent = (--before)->second;
    const uint64_t end = before->first + extent.size;
    const bool is_ours = extent.state == State::kDirty && extent.context == context;
    if (is_ours && offset_bytes < end) {
      data = data.first(std::min<uint64_t>(data.size(), end - offset_bytes));
      const std::lock_guard lock(mutex_);
      std::memcpy(extent.bytes().data() + (offset_bytes - before->first), data.data(), data.size());
      return data.size();
    }
    if (is_ours && offset_bytes == end && extent.size < piece) {
      const uint64_t begin = before->first;
      data = data.first(std::min(data.size(), piece - extent.size));
      error = MakeRoom(end, end + data.size(), *context);
      before = extents_.find(begin);
      if (error != std::errc{} || before == extents_.end() ||
          before->second.state != State::kDirty || begin + before->second.size != end) {
        return 0;
      }
      Extend(before->second, data);
      return data.size();
    }
  }
  error = MakeRoom(offset_bytes, offset_bytes + data.size(), *context);
  if (error != std::errc{}) return 0;
  Extent extent;
  extent.buffer =
      std::make_shared<Buffer>(superblock_.dirty_files, std::max(data.size(), kLeastBufferBytes));
  extent.size = data.size();
  extent.context = context;
  std::memcpy(extent.buffer->data(), data.data(), data.size());
  Insert(offset_bytes, std::move(extent));
  return data.size();
} catch (const std::bad_alloc&) {
  error = std::errc::not_enough_memory;
  return 0;
}

void DirtyData::Extend(Extent& extent, std::span<const std::byte> data) {
  const size_t needed = extent.size + data.size();
  std::shared_ptr<Buffer> buffer = extent.buffer;
  const bool fits = extent.at == 0 && buffer.use_count() == 2 && needed <= buffer->size();
  if (!fits) {
    const size_t most = superblock_.limits.write_bytes_max;
    buffer = std::make_shared<Buffer>(superblock_.dirty_files,
                                      std::max(needed, std::min(most, kBufferGrowth * needed)));
    std::memcpy(buffer->data(), extent.bytes().data(), extent.size);
  }
  const std::lock_guard lock(mutex_);
  std::memcpy(buffer->data() + extent.size, data.data(), data.size());
  if (!fits) extent.at = 0;
  extent.buffer = std::move(buffer);
  extent.size = needed;
  dirty_bytes_ += data.size();
}

// Adds a dirty extent to the file.
void DirtyData::Insert(uint64_t offset_bytes, Extent extent) {
  const size_t bytes = extent.size;
  const auto place = dirty_.insert(offset_bytes).first;
  try {
    const std::lock_guard lock(mutex_);
    extents_.emplace(offset_bytes, std::move(extent));
  } catch (const std::bad_alloc&) {
    dirty_.erase(place);
    throw;
  }
  dirty_bytes_ += bytes;
  ++live_;
  if (dirty_since_ns_.load() == 0) {
    dirty_since_ns_.store(rcu::CoarseNowNs());
    superblock_.flusher.NoteDirty(
        [](DirtyFiles& files) { return FlushDue(files, rcu::CoarseNowNs()); });
  }
  if (!HasInvalid(*inode_, icache::kInvalidDirty) || !HasInvalid(*inode_, icache::kRetained)) {
    SetInvalid(*inode_, icache::kInvalidDirty | icache::kRetained, true);
  }
}

// Leaves no extent in [begin, end) that `context` may not replace.
std::errc DirtyData::MakeRoom(uint64_t begin, uint64_t end, const OpenContext& context) {
  for (auto at = FirstOverlap(begin); at != extents_.end() && at->first < end;) {
    const State state = at->second.state;
    std::errc error{};
    if (state != State::kCommitted && at->second.context.get() != &context) {
      error = Flush(Until::kCommitted);
    } else if (state == State::kWriting) {
      error = FinishOldest();
    } else {
      NFSWALK_SYNC_POINT("dirty_data:before-cut");
      Cut(at, begin, end);
    }
    if (error != std::errc{}) return error;
    at = FirstOverlap(begin);
  }
  return {};
}

// Takes [begin, end) out of an extent that is not under way.
void DirtyData::Cut(Extents::iterator at, uint64_t begin, uint64_t end) {
  Extent& extent = at->second;
  const uint64_t last = at->first + extent.size;
  if (last > end) {
    Extent rest;
    rest.at = extent.at + (end - at->first);
    rest.size = last - end;
    rest.buffer = extent.buffer;
    rest.context = extent.context;
    rest.state = extent.state;
    rest.stability = extent.stability;
    rest.verifier = extent.verifier;
    rest.written = extent.written;
    rest.last_read = extent.last_read;
    DirtySet place;
    place.insert(end);
    {
      const std::lock_guard lock(mutex_);
      Extent& added = extents_.emplace(end, std::move(rest)).first->second;
      if (extent.state != State::kDirty) added.place = place.extract(end);
      extent.size = end - at->first;
    }
    if (extent.state == State::kDirty) dirty_.merge(place);
    if (extent.state != State::kCommitted) ++live_;
  }
  if (at->first < begin) {
    const size_t lost = extent.size - (begin - at->first);
    if (extent.state == State::kDirty) dirty_bytes_ -= lost;
    if (extent.state == State::kUnstable) unstable_bytes_ -= lost;
    const std::lock_guard lock(mutex_);
    extent.size = begin - at->first;
    return;
  }
  if (extent.state == State::kDirty) {
    dirty_.erase(at->first);
    dirty_bytes_ -= extent.size;
  }
  if (extent.state == State::kUnstable) unstable_bytes_ -= extent.size;
  if (extent.state != State::kCommitted) --live_;
  const std::lock_guard lock(mutex_);
  extents_.erase(at);
}

// Whether both may go out in one WRITE. A hole of less than a page between them is written, too,
// where it is behind the end of the file: it reads as zeros anyway (nfs_can_extend_write()).
bool DirtyData::CanJoin(Extents::const_iterator extent, Extents::const_iterator next) const {
  const auto& [offset, first] = *extent;
  const auto& [next_offset, second] = *next;
  if (second.state != State::kDirty || second.context != first.context ||
      second.stability != first.stability ||
      next_offset + second.size - offset > superblock_.limits.write_bytes_max) {
    return false;
  }
  const uint64_t end = offset + first.size;
  if (next_offset == end) return true;
  if (next_offset - end >= kPageBytes || superblock_.locks.HasAny(*inode_)) return false;
  const auto server_end = KnownServerEnd();
  return server_end && *server_end <= end;
}

// What lacks memory stays as it is.
void DirtyData::JoinDirty() try {
  static constexpr std::array<std::byte, kPageBytes> kZeros{};
  for (auto at = dirty_.begin(); at != dirty_.end();) {
    const auto extent = extents_.find(*at);
    const auto next = std::next(extent);
    if (next == extents_.end() || !CanJoin(extent, next)) {
      ++at;
      continue;
    }
    const uint64_t end = extent->first + extent->second.size;
    if (next->first > end) Extend(extent->second, std::span(kZeros).first(next->first - end));
    Extend(extent->second, next->second.bytes());
    Cut(next, next->first, next->first + next->second.size);
  }
} catch (const std::bad_alloc&) {
}

std::errc DirtyData::SendFull() {
  const size_t piece = superblock_.limits.write_bytes_max;
  if (dirty_bytes_ < piece && dirty_.size() <= kPartialMax) return {};
  if (dirty_.size() > kPartialMax) JoinDirty();
  const bool all = dirty_.size() > kPartialMax;
  for (auto at = dirty_.begin(); at != dirty_.end();) {
    const auto extent = extents_.find(*at++);
    if (!all && extent->second.size < piece) continue;
    if (const std::errc error = Start(extent); error != std::errc{}) return error;
  }
  return {};
}

// Preconditions: kDirty. Finishing others does not change what is dirty but by making it so again.
std::errc DirtyData::Start(Extents::iterator at) {
  while (under_way_.size() >= kUnderWayMax) {
    if (const std::errc error = FinishOldest(); error != std::errc{}) return error;
  }
  Extent& extent = at->second;
  const OpenContext& context = *extent.context;
  if (!since_) since_ = Stamp(superblock_);
  protocol::WriteUnderWay started;
  try {
    under_way_.push_back(at->first);
    started = superblock_.protocol->StartWrite(inode_->handle(), at->first, extent.bytes(),
                                               extent.stability, context.open.get(),
                                               context.credential->key());
  } catch (const std::bad_alloc&) {
  }
  if (started == nullptr) {
    if (!under_way_.empty() && under_way_.back() == at->first) under_way_.pop_back();
    return std::errc::not_enough_memory;
  }
  dirty_bytes_ -= extent.size;
  extent.place = dirty_.extract(at->first);
  extent.under_way = std::move(started);
  const std::lock_guard lock(mutex_);
  extent.state = State::kWriting;
  return {};
}

std::errc DirtyData::FinishOldest() {
  const auto at = extents_.find(under_way_.front());
  std::optional<WrittenReply> ended = at->second.under_way->Finish();
  if (!ended) return protocol::CallDeadline::Error();  // the server may still execute it
  WrittenReply& reply = *ended;
  at->second.under_way = nullptr;
  under_way_.pop_front();
  if (reply.error == std::errc{} && reply.count_bytes == 0) reply.error = std::errc::io_error;
  Note(reply.file.after);
  const std::errc error =
      reply.error == std::errc{} ? Written(at, reply) : Refused(at, reply.error);
  if (under_way_.empty()) UpdateInode();
  return error;
}

std::errc DirtyData::Written(Extents::iterator at, const WrittenReply& reply) try {
  Extent& extent = at->second;
  if (reply.count_bytes < extent.size) {
    Extent rest;
    rest.at = extent.at + reply.count_bytes;
    rest.size = extent.size - reply.count_bytes;
    rest.buffer = extent.buffer;
    rest.context = extent.context;
    rest.stability = extent.stability;
    Insert(at->first + reply.count_bytes, std::move(rest));
    const std::lock_guard lock(mutex_);
    extent.size = reply.count_bytes;
  }
  if (reply.committed == Stability::kFileSync) {
    Drop(at);
    return {};
  }
  extent.verifier = reply.verifier;
  extent.written = ++writes_;
  unstable_bytes_ += extent.size;
  const std::lock_guard lock(mutex_);
  extent.state = State::kUnstable;
  return {};
} catch (const std::bad_alloc&) {
  MakeDirty(at);
  return std::errc::not_enough_memory;
}

std::errc DirtyData::Refused(Extents::iterator at, std::errc error) {
  if (IsInterruption(error)) {
    MakeDirty(at);
    return error;
  }
  if (error == protocol::kStale) MarkStale(superblock_, *inode_);
  errors_.Set(error);
  Drop(at);
  return {};
}

void DirtyData::MakeDirty(Extents::iterator at) {
  Extent& extent = at->second;
  if (extent.state == State::kUnstable) unstable_bytes_ -= extent.size;
  dirty_bytes_ += extent.size;
  dirty_.insert(std::move(extent.place));
  {
    const std::lock_guard lock(mutex_);
    extent.state = State::kDirty;
  }
  SetInvalid(*inode_, icache::kInvalidDirty, true);
}

void DirtyData::Drop(Extents::iterator at) {
  if (at->second.state == State::kUnstable) unstable_bytes_ -= at->second.size;
  --live_;
  const std::lock_guard lock(mutex_);
  if (reads_ == 0) {
    extents_.erase(at);
  } else {
    at->second.state = State::kCommitted;
    at->second.last_read = reads_begun_;
    at->second.context = nullptr;
  }
}

// What was committed while it was read.
void DirtyData::DropCommitted() {
  const std::lock_guard lock(mutex_);
  if (reads_ > 0) return;
  std::erase_if(extents_,
                [](const auto& entry) { return entry.second.state == State::kCommitted; });
}

std::errc DirtyData::Flush(Until until) {
  DropCommitted();
  JoinDirty();
  for (;;) {
    // FLUSH_COND_STABLE: one WRITE needs no COMMIT.
    if (until == Until::kCommitted && live_ == 1 && dirty_.size() == 1) {
      extents_.find(*dirty_.begin())->second.stability = Stability::kFileSync;
    }
    std::errc error{};
    while (!dirty_.empty() && error == std::errc{}) error = Start(extents_.find(*dirty_.begin()));
    while (!under_way_.empty() && (error == std::errc{} || IsInterruption(error))) {
      const std::errc of_this = FinishOldest();
      if (of_this != std::errc{}) error = of_this;
    }
    if (error != std::errc{}) return error;
    if (!dirty_.empty()) continue;  // the rest of what was written in part
    if (until == Until::kCommitted) error = CommitAll();
    if (error != std::errc{}) return error;
    if (dirty_.empty()) return {};
  }
}

std::errc DirtyData::LockAndFlush(Until until) {
  const auto lock = superblock_.directory_locks.Lock(*inode_);
  return lock ? Flush(until) : protocol::CallDeadline::Error();
}

// Commits before a writer would have to wait for it: a long sequential write does not stall.
std::errc DirtyData::KeepUnstableLimit() {
  const size_t most = superblock_.dirty_files.bytes_max();
  if (2 * unstable_bytes_ >= most && commit_.under_way != nullptr) return FinishCommit();
  if (4 * unstable_bytes_ >= most && commit_.under_way == nullptr) return StartCommit();
  return {};
}

// Of what the server has written until now.
std::errc DirtyData::StartCommit() try {
  const auto at = std::ranges::find_if(
      extents_, [](const auto& entry) { return entry.second.state == State::kUnstable; });
  if (at == extents_.end()) return {};
  const std::shared_ptr<const OpenContext>& context = at->second.context;
  commit_.since = Stamp(superblock_);
  commit_.writes = writes_;
  commit_.under_way =
      superblock_.protocol->StartCommit(inode_->handle(), context->credential->key());
  if (commit_.under_way == nullptr) return std::errc::not_enough_memory;
  commit_.context = context;
  return {};
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

// Those that its verifier does not vouch for are dirty again.
std::errc DirtyData::FinishCommit() {
  const std::optional<protocol::CommitReply> ended = commit_.under_way->Finish();
  if (!ended) return protocol::CallDeadline::Error();
  const protocol::CommitReply& reply = *ended;
  commit_.under_way = nullptr;
  const auto context = std::move(commit_.context);
  if (IsInterruption(reply.error)) return reply.error;
  if (!since_ || commit_.since.generation < since_->generation) since_ = commit_.since;
  Note(reply.file.after);
  if (reply.error == protocol::kStale) MarkStale(superblock_, *inode_);
  if (reply.error != std::errc{}) errors_.Set(reply.error);
  for (auto at = extents_.begin(); at != extents_.end();) {
    const auto extent = at++;
    if (extent->second.state != State::kUnstable || extent->second.written > commit_.writes) {
      continue;
    }
    if (reply.error == std::errc{} && extent->second.verifier != reply.verifier) {
      extent->second.stability = Stability::kFileSync;
      MakeDirty(extent);
    } else {
      Drop(extent);
    }
  }
  if (under_way_.empty()) UpdateInode();
  return {};
}

// Of all that is unstable.
std::errc DirtyData::CommitAll() {
  std::errc error{};
  if (commit_.under_way != nullptr) error = FinishCommit();
  if (error == std::errc{} && unstable_bytes_ > 0) {
    error = StartCommit();
    if (error == std::errc{}) error = FinishCommit();
  }
  return error;
}

void DirtyData::Note(const protocol::OptionalAttributes& after) {
  if (after && (!after_ || IsLater(*after, *after_))) after_ = after;
}

// nfs_post_op_update_inode_force_wcc(): WRITEs that were under way at the same time do not tell
// what was before all of them.
void DirtyData::UpdateInode() {
  if (live_ == 0) {
    SetInvalid(*inode_, icache::kRetained, false);
    dirty_since_ns_.store(0);
  }
  protocol::WeakCacheConsistency wcc{.before = {}, .after = std::exchange(after_, {})};
  if (wcc.after) {
    protocol::Attributes known;
    CopyAttributes(*inode_, known);
    wcc.before = {.size_bytes = known.size_bytes,
                  .mtime = known.mtime,
                  .ctime = known.ctime,
                  .change = known.change};
  }
  UpdateAfterOwnChange(superblock_, *inode_, wcc, *std::exchange(since_, {}));
  if (dirty_.empty()) SetInvalid(*inode_, icache::kInvalidDirty, false);
}

std::errc FlushDirtyData(Superblock& superblock, Inode& inode, DirtyData::Until until) {
  const uint8_t bits =
      until == DirtyData::Until::kWritten ? icache::kInvalidDirty : icache::kRetained;
  if (!HasInvalid(inode, bits)) return {};
  const std::shared_ptr<DirtyData> data = superblock.dirty_files.Find(inode);
  return data == nullptr ? std::errc{} : data->LockAndFlush(until);
}

bool DirtyData::IsDue(uint64_t now_ns) const {
  const uint64_t since_ns = dirty_since_ns_.load();
  return since_ns != 0 &&
         now_ns >= since_ns + uint64_t{1'000'000} * superblock_.options.dirty_expire_ms;
}

bool FlushDue(DirtyFiles& files, uint64_t now_ns) {
  bool left = false;
  for (const auto& data : files.All()) {
    if (data->IsDue(now_ns)) (void)data->LockAndFlush(DirtyData::Until::kCommitted);
    left |= data->dirty_since_ns() != 0;
  }
  return left;
}

void FlushInBackground(Superblock& superblock, std::shared_ptr<DirtyData> data) try {
  Background::Call flush = [data = std::move(data)](bool /*in_background*/) {
    (void)data->LockAndFlush(DirtyData::Until::kCommitted);
  };
  (void)superblock.background.TryStart(flush);
} catch (const std::bad_alloc&) {
  // Its Close() has reported it.
}

}  // namespace nfswalk::nfs
