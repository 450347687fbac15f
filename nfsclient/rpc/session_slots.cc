#include "nfsclient/rpc/session_slots.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace nfswalk::rpc {
namespace {

constexpr uint32_t kOk = SequenceResult::kOk;
constexpr uint32_t kDelay = SequenceResult::kDelay;

void Put(std::span<std::byte>& at, uint32_t value) {
  const uint32_t wire = htonl(value);
  std::memcpy(at.data(), &wire, sizeof wire);
  at = at.subspan(sizeof wire);
}

constexpr uint64_t BitOf(uint32_t slot) { return uint64_t{1} << slot; }

}  // namespace

bool IsSequenceError(uint32_t nfsstat4) {
  switch (nfsstat4) {
    case kBadSession:
    case kBadSlot:
    case kConnNotBoundToSession:
    case kSeqMisordered:
    case kRetryUncachedRep:
    case kSeqFalseRetry:
    case kBadHighSlot:
    case kDeadSession:
      return true;
    default:
      return false;
  }
}

void SkipCompoundHead(XdrReader& results) {
  results.Skip(sizeof(uint32_t));
  (void)results.Bytes(results.bytes_left());
  results.Skip(sizeof(uint32_t));
}

std::optional<SequenceResult> ReadSequence(XdrReader& results) {
  if (results.U32() != kOpSequence) return std::nullopt;
  SequenceResult result{.status = results.U32()};
  if (result.status == kOk) {
    const std::string_view session = results.Opaque(result.session.size());
    std::copy(session.begin(), session.end(), result.session.begin());
    result.sequence = results.U32();
    result.slot = results.U32();
    result.highest_slot = results.U32();
    result.target_highest_slot = results.U32();
    result.status_flags = results.U32();
  }
  return results.good() ? std::optional(result) : std::nullopt;
}

void SessionSlots::Open(std::shared_ptr<const Session> session, uint32_t first, uint32_t stride) {
  session_ = std::move(session);
  first_ = first;
  stride_ = stride;
  highest_ = session_->highest.load();
  count_ = (session_->slots - first - 1) / stride + 1;
  slots_.fill(Slot());
}

void SessionSlots::Close(uint64_t generation) {
  if (session_ != nullptr && session_->generation == generation) session_ = nullptr;
}

void SessionSlots::SetState(size_t index, State state) {
  slots_[index].state = state;
  const uint64_t bit = BitOf(IdOf(index));
  if (state == State::kFree) {
    session_->slots_in_use.fetch_and(~bit);
  } else {
    session_->slots_in_use.fetch_or(bit);
  }
}

std::optional<size_t> SessionSlots::Lowest(State state) const {
  for (size_t index = 0; index < count_ && MayUse(index); ++index) {
    if (slots_[index].state == state) return index;
  }
  return std::nullopt;
}

bool SessionSlots::CanTake(bool may_be_reserved) {
  if (!is_open()) return false;
  highest_ = session_->highest.load();
  size_t usable = 0, left = 0;
  for (; usable < count_ && MayUse(usable); ++usable) {
    left += slots_[usable].state != State::kTaken;
  }
  return left > (may_be_reserved || usable == 1 ? 0 : 1);
}

SessionSlots::Taken SessionSlots::Take(uint32_t xid) {
  const std::optional<size_t> unused = Lowest(State::kFree);
  const size_t index = unused ? *unused : *Lowest(State::kUnsettled);
  Slot& slot = slots_[index];
  SetState(index, State::kTaken);
  slot.is_probe = !unused;
  slot.xid = xid;
  return {session_->generation, index, slot.sequence + (slot.is_probe ? 1 : 0), IdOf(index),
          session_->id};
}

void SessionSlots::Encode(const Taken& taken, bool is_cached, std::span<std::byte> at) const {
  Put(at, kOpSequence);
  std::memcpy(at.data(), session_->id.data(), session_->id.size());
  at = at.subspan(session_->id.size());
  const uint32_t id = IdOf(taken.index);
  Put(at, taken.sequence);
  Put(at, id);
  const uint64_t in_use = session_->slots_in_use.load() | BitOf(id);
  Put(at, std::max(static_cast<uint32_t>(std::bit_width(in_use)), stride_) - 1);
  Put(at, is_cached ? 1 : 0);
}

bool SessionSlots::IsOf(const Taken& taken, const SequenceResult& result) {
  if (result.status != kOk) return true;
  return result.session == taken.session && result.slot == taken.slot &&
         result.sequence == taken.sequence;
}

void SessionSlots::Answer(const Taken& taken, const std::optional<SequenceResult>& result,
                          bool was_resent) {
  if (!Has(taken)) return;
  if (!result) return Leave(taken, true);
  TakeResult(taken.index, *result, was_resent);
}

void SessionSlots::TakeResult(size_t index, const SequenceResult& result, bool was_resent) {
  Slot& slot = slots_[index];
  const uint32_t sent = slot.sequence + (slot.is_probe ? 1 : 0);
  const bool was_probe = std::exchange(slot.is_probe, false);
  SetState(index, State::kFree);
  switch (result.status) {
    case kOk:
      slot.sequence = sent + 1;
      session_->highest.store(result.target_highest_slot);
      if (const uint32_t before = session_->status_flags.exchange(result.status_flags);
          result.status_flags != 0) {
        session_->on_status(session_->generation, result.status_flags,
                            result.status_flags & ~before);
      }
      return;
    case kRetryUncachedRep:
    case kSeqFalseRetry:
      slot.sequence = sent + 1;
      return;
    case kSeqMisordered:
      return End();
    case kBadHighSlot:
      // Its own slot, and the first of each connection, are told of in any case.
      if (session_->highest.load() <= IdOf(index)) return End();
      session_->highest.store(IdOf(index));
      return;
    case kBadSlot:
      if (index == 0) return End();
      session_->highest.store(std::min(session_->highest.load(), IdOf(index) - 1));
      return;
    case kBadSession:
    case kConnNotBoundToSession:
    case kDeadSession:
      return End();
    default:
      // With NFS4ERR_DELAY the call before is executed still, or an earlier transmission.
      if (was_probe || was_resent) SetState(index, State::kUnsettled);
  }
}

void SessionSlots::End() {
  const std::shared_ptr<const Session> ended = std::exchange(session_, nullptr);
  ended->on_end(ended->generation);
}

void SessionSlots::Leave(const Taken& taken, bool was_sent) {
  if (!Has(taken)) return;
  Slot& slot = slots_[taken.index];
  const bool was_probe = std::exchange(slot.is_probe, false);
  if (!was_sent) return SetState(taken.index, was_probe ? State::kUnsettled : State::kFree);
  // Neither of two calls has a reply: what the server has executed cannot be told by one more.
  if (was_probe) return End();
  SetState(taken.index, State::kUnsettled);
}

void SessionSlots::TakeLate(uint32_t xid, XdrReader& results) {
  if (!is_open()) return;
  for (size_t index = 0; index < count_; ++index) {
    if (slots_[index].state != State::kUnsettled || slots_[index].xid != xid) continue;
    const auto result = ReadSequence(results);
    const Slot& slot = slots_[index];
    const Taken sent{session_->generation, index, slot.sequence + (slot.is_probe ? 1 : 0),
                     IdOf(index), session_->id};
    if (result && IsOf(sent, *result)) TakeResult(index, *result, false);
    return;
  }
}

}  // namespace nfswalk::rpc
