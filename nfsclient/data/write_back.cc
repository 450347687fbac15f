#include "nfsclient/data/write_back.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <new>
#include <optional>
#include <utility>

#include "nfsclient/protocol/call_deadline.h"
#include "rcu/coarse_clock.h"
#include "rcu/sync_point.h"

namespace nfswalk::data {

using icache::Inode;
using nfs::DirtyFiles;
using nfs::Superblock;
using protocol::CallDeadline;
using protocol::kOk;
using protocol::Stability;
using protocol::UnstableWriteReply;

namespace {

// WRITEs of one file in flight. With pieces of 1 MiB they keep 1 GB/s busy at 16 ms.
constexpr size_t kInFlightMax = 16;
// Extents that are not full and wait for more, of one file.
constexpr size_t kPartialMax = 64;
constexpr size_t kPageBytes = 4096;

}  // namespace

std::shared_ptr<WriteBack> WriteBack::Of(Superblock& superblock, Inode& inode) {
  return superblock.dirty_files.FindOrMake(
      inode, [&] { return std::shared_ptr<WriteBack>(new WriteBack(superblock, inode)); });
}

WriteBack::WriteBack(Superblock& superblock, Inode& inode)
    : superblock_(superblock),
      inode_(icache::Hold(inode)),
      extents_(superblock.limits.write_bytes_max, superblock.dirty_files.charged_bytes()) {}

size_t WriteBack::Write(std::span<const std::byte> data, uint64_t offset_bytes,
                        const Context& context, std::errc& error) {
  size_t taken = 0;
  error = FinishCallAlone();
  KeepContext(context);
  if (extents_.live_extents() == 0) {
    AskIfInvalid(context);
    const auto known = KnownState();
    const std::lock_guard lock(mutex_);
    extents_.SetFileEnd(known ? known->size_bytes : UINT64_MAX);
    own_change_attribute_ = known ? std::optional(known->change) : std::nullopt;
  }
  while (taken < data.size() && error == kOk) {
    error = KeepUnstableLimit();
    if (error == kOk && superblock_.dirty_files.IsFull()) error = FlushAll(Until::kCommitted);
    if (error != kOk) break;
    taken += WriteChunk(data.subspan(taken), offset_bytes + taken, context, error);
    if (error == kOk) error = SendFull();
  }
  if (taken == 0) {
    EraseIfClean();
    return 0;
  }
  FillGaps(offset_bytes, offset_bytes + taken, context);
  error = kOk;  // data not sent for lack of memory or time stays dirty
  return taken;
}

// Asks for attributes that are invalid, as after a lock was taken, before there is own data: behind
// it neither a change by another client nor the file's end on the server could be told from ours.
// Best effort: without a reply it is not known whose the change is.
void WriteBack::AskIfInvalid(const Context& context) {
  if (nfs::KnownChangeAttribute(*inode_)) return;
  (void)nfs::RevalidateInode(superblock_, *inode_, context->credential->key());
}

// Returns the bytes taken, 0 with an error.
size_t WriteBack::WriteChunk(std::span<const std::byte> data, uint64_t offset_bytes,
                             const Context& context, std::errc& error) try {
  data = data.first(std::min<size_t>(data.size(), superblock_.limits.write_bytes_max));
  error = AwaitObstacles(offset_bytes, offset_bytes + data.size(), context);
  if (error != kOk) return 0;
  NFSWALK_SYNC_POINT("write_back:before-write");
  NoteDirty();  // before a reply could take the size back
  size_t taken = 0;
  {
    const std::lock_guard lock(mutex_);
    taken = extents_.Write(offset_bytes, data, context);
  }
  nfs::GrowSize(*inode_, offset_bytes + taken);
  return taken;
} catch (const std::bad_alloc&) {
  error = std::errc::not_enough_memory;
  return 0;
}

// Waits until [begin, end) may be written with `context`.
std::errc WriteBack::AwaitObstacles(uint64_t begin, uint64_t end, const Context& context) {
  const auto find = [&] {
    const std::lock_guard lock(mutex_);
    return extents_.FindObstacle(begin, end, context);
  };
  while (const Extent* const obstacle = find()) {
    const bool is_of_opener = obstacle->context == context;
    const std::errc error = is_of_opener ? FinishOldest() : FlushAll(Until::kCommitted);
    if (error != kOk) return error;
  }
  return {};
}

// The cached attributes, if they are valid.
protocol::OptionalAttributes WriteBack::KnownState() const {
  protocol::Attributes known;
  const nfs::NeedRef need = nfs::CopyFreshAttributesRcu(superblock_, *inode_, rcu::CoarseNowNs(),
                                                        known, icache::kInvalidChange);
  return need == nfs::NeedRef::kNone ? protocol::OptionalAttributes(known) : std::nullopt;
}

// Writes zeros into holes of less than a page beside what was written, so that it goes out together
// with its neighbours (nfs_can_extend_write()). They read as zeros anyway, unless others write
// there, too: not where a lock says so. Best effort.
void WriteBack::FillGaps(uint64_t begin, uint64_t end, const Context& context) {
  static constexpr std::array<std::byte, kPageBytes> kZeros{};
  if (superblock_.locks.HasAny(*inode_)) return;
  std::array<std::optional<ExtentMap::Range>, 2> gaps;
  {
    const auto known = KnownState();
    const std::lock_guard lock(mutex_);
    if (known && own_change_attribute_ == known->change)
      gaps = extents_.FindGaps(begin, end, context);
  }
  for (const auto& gap : gaps) {
    if (!gap || gap->end - gap->begin >= kPageBytes) continue;
    std::errc error{};
    for (uint64_t at = gap->begin; at < gap->end && error == kOk;) {
      at += WriteChunk(std::span(kZeros).first(gap->end - at), at, context, error);
    }
  }
}

void WriteBack::NoteDirty() {
  if (dirty_since_ns_.load() == 0) {
    dirty_since_ns_.store(rcu::CoarseNowNs());
    flusher_knows_ = false;
  }
  if (!flusher_knows_) {
    flusher_knows_ = superblock_.flusher.NoteDirty(
        [](DirtyFiles& files) { return FlushDue(files, rcu::CoarseNowNs()); });
  }
  if (!nfs::HasValidityBits(*inode_, icache::kInvalidDirty) ||
      !nfs::HasValidityBits(*inode_, icache::kRetained)) {
    nfs::SetValidityBits(*inode_, icache::kInvalidDirty | icache::kRetained, true);
  }
}

// Sends what fills a piece, or all where too many pieces are not full.
std::errc WriteBack::SendFull() {
  const size_t piece = superblock_.limits.write_bytes_max;
  if (extents_.dirty_bytes() < piece && extents_.dirty_extents() <= kPartialMax) return {};
  if (extents_.dirty_extents() > kPartialMax) {
    const std::lock_guard lock(mutex_);
    extents_.JoinDirty();
  }
  const bool all = extents_.dirty_extents() > kPartialMax;
  for (Extent* extent = extents_.NextDirty(); extent != nullptr;) {
    const uint64_t next = extent->end();
    if (all || extent->size == piece) {
      if (const std::errc error = Start(*extent); error != kOk) return error;
    }
    extent = extents_.NextDirty(next);
  }
  return {};
}

// Preconditions: kDirty.
std::errc WriteBack::Start(Extent& extent) {
  while (calls_.size() >= kInFlightMax) {
    if (const std::errc error = FinishOldest(); error != kOk) return error;
  }
  const nfs::OpenContext& context = *extent.context;
  context_ = extent.context;
  BeginBatch();
  protocol::WriteInFlight started;
  try {
    calls_.push_back({&extent, nullptr});
    started = superblock_.protocol->StartWrite(
        inode_->handle(), extent.begin, extent.bytes(),
        extent.must_be_stable ? Stability::kFileSync : Stability::kUnstable, context.open.get(),
        context.credential->key());
  } catch (const std::bad_alloc&) {
  }
  if (started == nullptr) {
    if (!calls_.empty() && calls_.back().extent == &extent) calls_.pop_back();
    return std::errc::not_enough_memory;
  }
  calls_.back().in_flight = std::move(started);
  changes_.Sent();
  const std::lock_guard lock(mutex_);
  extents_.StartWrite(extent);
  return {};
}

std::errc WriteBack::FinishOldest() {
  const std::optional<UnstableWriteReply> reply = calls_.front().in_flight->Finish();
  if (!reply) return CallDeadline::Error();  // it stays in flight
  Extent& extent = *calls_.front().extent;
  calls_.pop_front();
  superblock_.dirty_files.NoteWrite(*inode_);
  // A refused WRITE has not made the state that its reply shows; an ended call may have.
  const bool changes = reply->error == kOk || reply->error == std::errc::not_enough_memory;
  changes_.Answered(reply->file, changes);
  NFSWALK_SYNC_POINT("write_back:reply-came");
  const std::errc error = TakeIn(extent, *reply);
  NFSWALK_SYNC_POINT("write_back:reply-taken-in");
  EndBatchIfKnown();
  return error;
}

std::errc WriteBack::TakeIn(Extent& extent, const UnstableWriteReply& reply) {
  std::errc error = reply.error;
  if (error == kOk && reply.count_bytes == 0) error = std::errc::io_error;
  {
    const std::lock_guard lock(mutex_);
    try {
      if (error == kOk) {
        extents_.Written(extent, reply.count_bytes, reply.committed == Stability::kFileSync,
                         reply.verifier);
      }
    } catch (const std::bad_alloc&) {
      error = std::errc::not_enough_memory;
    }
    if (error == kOk) return {};
    if (error == std::errc::not_enough_memory) {  // a call without a reply ended with its connection
      extents_.NotWritten(extent);
      return error;
    }
    extents_.Refused(extent);
  }
  NoteRefused(error);
  return {};
}

// Data that the server refused is lost, and with it what is known of the file's end.
void WriteBack::NoteRefused(std::errc error) {
  if (error == protocol::kStale) nfs::MarkStale(superblock_, *inode_);
  superblock_.write_errors.Set(*inode_, error);
  nfs::InvalidateAttributes(superblock_, *inode_);
}

std::errc WriteBack::Flush(Until until) {
  const std::errc error = FlushAll(until);
  EraseIfClean();
  LeaveUnused();
  return error;
}

// Before data that was written with it is kept, so that no other reference is the last one: its
// file is closed, with calls and locks, when the file's i_rwsem is released. Throws std::bad_alloc.
void WriteBack::KeepContext(const Context& context) {
  if (std::ranges::find(contexts_, context) == contexts_.end()) contexts_.push_back(context);
}

// Gives up the contexts that nothing here refers to.
void WriteBack::LeaveUnused() {
  for (auto next = contexts_.begin(); next != contexts_.end();) {
    const auto at = next++;
    if (at->use_count() == 1) superblock_.dirty_files.Leave(contexts_, at);
  }
}

std::errc WriteBack::FlushAll(Until until) {
  if (const std::errc error = FinishCallAlone(); error != kOk) return error;
  {
    const std::lock_guard lock(mutex_);
    extents_.JoinDirty();
  }
  for (;;) {
    // FLUSH_COND_STABLE: one WRITE needs no COMMIT.
    if (until == Until::kCommitted && extents_.live_extents() == 1 &&
        extents_.dirty_extents() == 1) {
      extents_.NextDirty()->must_be_stable = true;
    }
    std::errc error{};
    while (extents_.dirty_extents() != 0 && error == kOk) error = Start(*extents_.NextDirty());
    while (!calls_.empty()) {
      const std::errc of_this = FinishOldest();
      if (error == kOk) error = of_this;
      if (of_this != kOk) break;
    }
    if (error != kOk) return error;
    if (extents_.dirty_extents() != 0) continue;  // the rest of what was written in part
    if (until == Until::kCommitted) error = CommitAll();
    if (error != kOk) return error;
    if (extents_.dirty_extents() == 0) break;
  }
  AskForLatest();
  return {};
}

std::errc WriteBack::LockAndFlush(Until until) {
  const RwsemGuard lock(superblock_, *inode_);
  return lock ? Flush(until) : CallDeadline::Error();
}

// Commits before a writer would have to wait for it: a long sequential write does not stall.
std::errc WriteBack::KeepUnstableLimit() {
  const size_t most = superblock_.dirty_files.bytes_max();
  if (2 * extents_.unstable_bytes() >= most && commit_.in_flight != nullptr) return FinishCommit();
  if (4 * extents_.unstable_bytes() >= most && commit_.in_flight == nullptr) return StartCommit();
  return {};
}

// Starts a COMMIT of all WRITEs that were answered.
std::errc WriteBack::StartCommit() try {
  Context context;
  {
    const std::lock_guard lock(mutex_);
    context = extents_.UnstableContext();
  }
  if (context == nullptr) return {};
  context_ = context;
  BeginBatch();
  commit_.last_written = extents_.last_written();
  commit_.in_flight =
      superblock_.protocol->StartCommit(inode_->handle(), context->credential->key());
  if (commit_.in_flight == nullptr) return std::errc::not_enough_memory;
  changes_.Sent();
  commit_.context = std::move(context);
  return {};
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

// Marks extents with another verifier dirty (nfs_commit_release_pages()).
std::errc WriteBack::FinishCommit() {
  const std::optional<protocol::CommitReply> reply = commit_.in_flight->Finish();
  if (!reply) return CallDeadline::Error();  // it stays in flight
  commit_.in_flight = nullptr;
  const Context context = std::move(commit_.context);
  superblock_.dirty_files.NoteWrite(*inode_);
  changes_.Answered(reply->file, /*changes=*/false);
  const bool is_refused =
      reply->error != kOk && reply->error != std::errc::not_enough_memory;
  {
    const std::lock_guard lock(mutex_);
    if (reply->error == kOk) extents_.Committed(commit_.last_written, reply->verifier);
    if (is_refused) extents_.CommitRefused(commit_.last_written);
  }
  if (is_refused) NoteRefused(reply->error);
  if (extents_.dirty_extents() != 0) NoteDirty();
  EndBatchIfKnown();
  return is_refused ? kOk : reply->error;
}

// Commits all that is unstable.
std::errc WriteBack::CommitAll() {
  std::errc error{};
  if (commit_.in_flight != nullptr) error = FinishCommit();
  if (error == kOk && extents_.unstable_bytes() > 0) {
    error = StartCommit();
    if (error == kOk) error = FinishCommit();
  }
  return error;
}

// Before a call is sent that changes_ counts.
void WriteBack::BeginBatch() {
  if (!changes_.has_calls_in_flight()) since_ = nfs::Stamp(superblock_);
  if (changes_.is_open()) return;
  nfs::SetValidityBits(*inode_, icache::kOwnWrites, true);
  const auto known = nfs::KnownChangeAttribute(*inode_);
  begins_as_own_ = known && own_change_attribute_ == known;
  changes_.Begin(known);
}

void WriteBack::EndBatchIfKnown() {
  if (changes_.is_open() && changes_.latest()) EndBatch();
}

// nfs_post_op_update_inode_force_wcc().
void WriteBack::EndBatch() {
  const protocol::OptionalAttributes latest = changes_.latest();
  const nfs::ChangedBy changed_by = changes_.End(nfs::KnownChangeAttribute(*inode_));
  uint8_t cleared = icache::kOwnWrites;
  if (extents_.dirty_extents() == 0) cleared |= icache::kInvalidDirty;
  if (extents_.live_extents() == 0) {
    cleared |= icache::kRetained;
    dirty_since_ns_.store(0);
  }
  {
    const std::lock_guard lock(mutex_);
    const bool only_ours = begins_as_own_ && changed_by == nfs::ChangedBy::kUs;
    own_change_attribute_ = only_ours && latest ? std::optional(latest->change) : std::nullopt;
  }
  nfs::UpdateAfterOwnWrites(superblock_, *inode_, changed_by, latest, since_, extents_.own_end(),
                            cleared);
}

// Asks the server for the attributes, where replies to WRITEs that were in flight at the same time
// do not tell the latest. Best effort: without a reply the next write-back asks again.
void WriteBack::AskForLatest() {
  if (!changes_.is_open() || changes_.has_calls_in_flight()) return;
  BeginBatch();
  changes_.Sent();
  protocol::AttributesReply now;
  try {
    now = superblock_.protocol->GetAttributes(inode_->handle(), context_->credential->key());
  } catch (const std::bad_alloc&) {
    now.error = std::errc::not_enough_memory;
  }
  protocol::WeakCacheConsistency shown;
  if (now.error == kOk) shown.after = now.attributes;
  changes_.Answered(shown, /*changes=*/false);
  if (now.error == protocol::kStale) nfs::MarkStale(superblock_, *inode_);
  const bool is_final = nfs::IsKnown(now.error) && now.error != std::errc::not_enough_memory;
  if (is_final) EndBatch();
}

// nfs_vmtruncate(): what the server has cut off is not shown here, and not sent again.
std::errc WriteBack::Truncate(const protocol::SetAttributes& attributes,
                              const sunrpc_auth::Credential& credential) {
  return CallAlone(attributes.size_bytes, [&]() -> std::errc {
    auto kept = superblock_.credentials.Lookup(credential);
    if (!kept) return kept.error();
    alone_.credential = std::move(*kept);
    alone_.in_flight = superblock_.protocol->StartSetAttributes(inode_->handle(), attributes,
                                                                alone_.credential->key());
    return {};
  });
}

// nfs42_proc_fallocate().
std::errc WriteBack::Allocate(const protocol::Allocation& allocation, const Context& context) {
  return CallAlone(std::nullopt, [&]() -> std::errc {
    KeepContext(context);
    context_ = context;
    alone_.in_flight = superblock_.protocol->StartAllocate(
        inode_->handle(), allocation, context->open.get(), context->credential->key());
    return {};
  });
}

// nfs42_proc_copy().
std::expected<uint64_t, std::errc> WriteBack::Copy(const Context& source,
                                                   const protocol::CopiedRange& range,
                                                   const Context& context) {
  const std::errc error = CallAlone(std::nullopt, [&]() -> std::errc {
    KeepContext(context);
    KeepContext(source);
    context_ = context;
    alone_.source = source;
    alone_.in_flight = superblock_.protocol->StartCopy(inode_->handle(), context->open.get(),
                                                       source->inode->handle(), source->open.get(),
                                                       range, context->credential->key());
    return {};
  });
  if (error != kOk) return std::unexpected(error);
  return alone_.copied_bytes;
}

// Writes back, sends a call by `send()`, which sets alone_.in_flight, and waits for it. `cuts_at`:
// of a truncation.
template <typename Send>
std::errc WriteBack::CallAlone(std::optional<uint64_t> cuts_at, Send send) {
  std::errc error = FlushAll(Until::kCommitted);
  if (error == kOk) {
    superblock_.dirty_files.NoteWrite(*inode_);
    NoteDirty();
    alone_.cuts_at = cuts_at;
    alone_.outlived_wait = false;
    alone_.stamp = nfs::Stamp(superblock_);
    try {
      error = send();
    } catch (const std::bad_alloc&) {
      error = std::errc::not_enough_memory;
    }
    if (error == kOk && alone_.in_flight == nullptr) error = std::errc::not_enough_memory;
    if (error != kOk) alone_.source = nullptr;
  }
  if (error == kOk) error = FinishCallAlone();
  if (error == kOk) error = alone_.outcome;
  EraseIfClean();
  return error;
}

// Waits for it, if it is in flight. Its error is in alone_.outcome then.
std::errc WriteBack::FinishCallAlone() {
  if (alone_.in_flight == nullptr) return {};
  const std::optional<protocol::FileChangeReply> reply = alone_.in_flight->Finish();
  if (!reply) {  // it stays in flight
    alone_.outlived_wait = true;
    return CallDeadline::Error();
  }
  alone_.in_flight = nullptr;
  alone_.credential = {};
  alone_.source = nullptr;  // contexts_ has it still
  alone_.outcome = reply->error;
  alone_.copied_bytes = reply->copied_bytes;
  superblock_.dirty_files.NoteWrite(*inode_);
  // The size in the reply is the file's: nothing was written since it was sent.
  nfs::SetValidityBits(*inode_, icache::kInvalidDirty | icache::kRetained, false);
  if (reply->error == protocol::kStale) nfs::MarkStale(superblock_, *inode_);
  nfs::UpdateAfterOwnChange(superblock_, *inode_, reply->file, alone_.stamp, reply->error);
  if (reply->error == std::errc::not_enough_memory) {  // the server may have made it
    nfs::InvalidateAttributes(superblock_, *inode_);
  }
  const bool may_be_made = reply->error == kOk || !nfs::IsKnown(reply->error);
  if (!alone_.cuts_at) {
    // A caller that gave it up, or does not know, may have pages of before (fuse_file_fallocate()).
    if (may_be_made && (alone_.outlived_wait || reply->error != kOk)) {
      nfs::SetValidityBits(*inode_, icache::kDataInUse, false);
      superblock_.invalidations.Post(nfs::InvalidReason::kChanged, *inode_);
    }
    return {};
  }
  if (reply->error != kOk) return {};
  {
    const std::lock_guard lock(mutex_);
    extents_.Truncate(*alone_.cuts_at);
  }
  nfs::CutSize(*inode_, *alone_.cuts_at);
  return {};
}

void WriteBack::EraseIfClean() {
  const bool is_clean = extents_.live_extents() == 0 && calls_.empty() && !changes_.is_open() &&
                        commit_.in_flight == nullptr && alone_.in_flight == nullptr;
  if (!is_clean) return;
  dirty_since_ns_.store(0);
  context_ = nullptr;
  while (!contexts_.empty()) superblock_.dirty_files.Leave(contexts_, contexts_.begin());
  if (!superblock_.dirty_files.Erase(*inode_, *this)) return;
  if (nfs::HasValidityBits(*inode_, icache::kInvalidDirty | icache::kRetained)) {
    nfs::SetValidityBits(*inode_, icache::kInvalidDirty | icache::kRetained, false);
  }
}

bool WriteBack::BeginRead(ExtentMap::Read& read) {
  const bool is_locked = superblock_.locks.HasAny(*inode_);
  const std::lock_guard lock(mutex_);
  extents_.BeginRead(read);
  if (is_locked) return false;  // the server may say that a lock is lost
  const auto known = KnownState();
  return extents_.HasAll(read, known ? known->size_bytes : UINT64_MAX,
                         known && own_change_attribute_ == known->change);
}

size_t WriteBack::EndRead(ExtentMap::Read& read, std::span<std::byte> into, size_t count_bytes) {
  const std::lock_guard lock(mutex_);
  return extents_.EndRead(read, into, count_bytes);
}

std::errc FlushWrites(Superblock& superblock, Inode& inode, WriteBack::Until until) {
  const uint8_t bits =
      until == WriteBack::Until::kWritten ? icache::kInvalidDirty : icache::kRetained;
  if (!nfs::HasValidityBits(inode, bits)) return {};
  const std::shared_ptr<WriteBack> data = superblock.dirty_files.Find(inode);
  return data == nullptr ? std::errc{} : data->LockAndFlush(until);
}

bool WriteBack::IsDue(uint64_t now_ns) const {
  const uint64_t since_ns = dirty_since_ns_.load();
  return since_ns != 0 &&
         now_ns >= since_ns + uint64_t{1'000'000} * superblock_.options.dirty_expire_ms;
}

bool FlushDue(DirtyFiles& files, uint64_t now_ns) {
  bool left = false;
  for (const auto& data : files.All()) {
    if (data->IsDue(now_ns)) (void)data->LockAndFlush(WriteBack::Until::kCommitted);
    left |= data->dirty_since_ns() != 0;
  }
  return left;
}

void FlushInBackground(Superblock& superblock, std::shared_ptr<WriteBack> data) try {
  TaskThreads::Task flush = [data = std::move(data)] {
    (void)data->LockAndFlush(WriteBack::Until::kCommitted);
  };
  (void)superblock.background.TryRun(flush);
} catch (const std::bad_alloc&) {
  // The flusher writes it when it is due.
}

}  // namespace nfswalk::data
