#include "nfsclient/nfs4/state/callbacks.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "nfsclient/nfs4/decode.h"

namespace nfswalk::protocol {
namespace {

using Accepted = rpc::BackChannel::Accepted;

// RFC 8881 20.
enum Procedure : uint32_t { kNull = 0, kCompound = 1 };
enum Operation : uint32_t {
  kGetAttributes = 3,
  kRecall = 4,
  kRecallLayout = 5,
  kRecallAny = 8,
  kRecallSlot = 10,
  kSequence = 11,
  kOffload = 15,
  kIllegal = 10044,
};
constexpr uint32_t kFirst = kGetAttributes;
constexpr uint32_t kLast = kOffload;

// RFC 8881 15.1.
constexpr uint32_t kBadXdr = 10036;
constexpr uint32_t kNoMatchingLayout = 10060;
constexpr uint32_t kSequencePosition = 10064;
constexpr uint32_t kTooManyOperations = 10070;
constexpr uint32_t kOpNotInSession = 10071;

// With the longest tag, and a result of each operation, a reply fits in a message.
constexpr size_t kTagBytesMax = 1024;
// Limit of a bitmap4: more than RFC 8881 20.6 has.
constexpr uint32_t kBitmapWordsMax = 8;

// The calls that the callback follows from; none could have given what it is about.
void SkipReferringCalls(rpc::XdrReader& in) {
  constexpr size_t kCallBytes = 2 * sizeof(uint32_t);  // sequence and slot
  const uint32_t sessions = in.U32();
  for (uint32_t i = 0; i < sessions && in.good(); ++i) {
    in.Skip(sizeof(rpc::Session::id));
    in.Skip(in.U32() * kCallBytes);
  }
}

}  // namespace

struct Callbacks::Run {
  rpc::XdrReader& in;
  rpc::XdrWriter& out;
  const size_t begin;                                  // of the results in `out`
  std::optional<CallbackSlots::Request> request = {};  // that CB_SEQUENCE has let pass
  std::shared_ptr<const rpc::Session> session = {};    // its session
  bool is_replay = false;
};

void Callbacks::Begin(std::shared_ptr<const rpc::Session> session) {
  const std::lock_guard lock(mutex_);
  session_ = std::move(session);
  slots_ = CallbackSlots();
}

uint32_t Callbacks::status_flags() {
  const std::lock_guard lock(mutex_);
  return session_ == nullptr ? 0 : session_->status_flags.load();
}

Accepted Callbacks::Answer(uint32_t procedure, rpc::XdrReader& in, rpc::XdrWriter& out) {
  if (procedure == kNull) return Accepted::kSuccess;
  if (procedure != kCompound) return Accepted::kProcedureUnavailable;
  const std::string_view tag = in.Bytes(kTagBytesMax);
  const uint32_t minor_version = in.U32();
  in.U32();  // callback_ident, of version 4.0
  const uint32_t operations = in.U32();
  if (!in.good()) return Accepted::kGarbageArguments;
  Run run{in, out, out.size()};
  out.U32(NFS4_OK).Bytes(tag);
  if (minor_version == minor_version_) {
    RunAll(run, operations);
  } else {
    out.U32(0).Replace(run.begin, NFS4ERR_MINOR_VERS_MISMATCH);
  }
  return Accepted::kSuccess;
}

// Appends the results of the operations up to the first that fails, and keeps them.
void Callbacks::RunAll(Run& run, uint32_t operations) {
  const size_t count_at = run.out.size();
  run.out.U32(0);
  uint32_t status = NFS4_OK, done = 0;
  while (status == NFS4_OK && done < operations) {
    uint32_t operation = run.in.U32();
    const bool is_known = run.in.good() && operation >= kFirst && operation <= kLast;
    if (!is_known) operation = kIllegal;
    const size_t at = run.out.size();
    run.out.U32(operation).U32(NFS4_OK);
    if (done == 0 && operation == kSequence) {
      status = operations > kOperationsMax ? kTooManyOperations : Sequence(run);
      if (run.is_replay) return;
    } else if (done == 0) {
      status = kOpNotInSession;
    } else {
      status = Execute(operation, run);
    }
    run.out.Replace(at + sizeof(uint32_t), status);
    ++done;
  }
  run.out.Replace(run.begin, status);
  run.out.Replace(count_at, done);
  if (!run.request) return;
  const std::lock_guard lock(mutex_);
  if (session_ == run.session) slots_.Keep(*run.request, run.out.bytes().subspan(run.begin));
}

// CB_SEQUENCE (RFC 8881 20.9).
uint32_t Callbacks::Sequence(Run& run) {
  const std::string_view session = run.in.Opaque(sizeof(rpc::Session::id));
  CallbackSlots::Request request;
  request.sequence = run.in.U32();
  request.slot = run.in.U32();
  run.in.U32();   // csa_highest_slotid
  run.in.Bool();  // csa_cachethis: all is kept
  SkipReferringCalls(run.in);
  if (!run.in.good()) return kBadXdr;
  const std::lock_guard lock(mutex_);
  const bool is_of = session_ != nullptr && std::ranges::equal(session, session_->id);
  if (!is_of) return rpc::kBadSession;
  switch (slots_.Examine(request)) {
    case CallbackSlots::Verdict::kBadSlot:
      return rpc::kBadSlot;
    case CallbackSlots::Verdict::kMisordered:
      return rpc::kSeqMisordered;
    case CallbackSlots::Verdict::kReplay: {
      run.is_replay = true;
      const std::span<const std::byte> kept = slots_.Kept(request);
      run.out.Cut(run.begin);
      run.out.Opaque({reinterpret_cast<const char*>(kept.data()), kept.size()});
      return NFS4_OK;
    }
    case CallbackSlots::Verdict::kExecute:
      break;
  }
  run.request = request;
  run.session = session_;
  run.out.Opaque(session).U32(request.sequence).U32(request.slot);
  run.out.U32(CallbackSlots::kSlots - 1).U32(CallbackSlots::kSlots - 1);
  return NFS4_OK;
}

// Operations behind CB_SEQUENCE: none has results, and none is read that is refused, since nothing
// is executed behind it. Returns the nfsstat4.
uint32_t Callbacks::Execute(uint32_t operation, Run& run) {
  rpc::XdrReader& in = run.in;
  switch (operation) {
    case kSequence:
      return kSequencePosition;
    case kIllegal:
      return NFS4ERR_OP_ILLEGAL;
    case kGetAttributes:
      return NFS4ERR_BADHANDLE;
    case kRecall: {
      const StateId state = ReadState(in);
      (void)in.Bool();  // truncate: the file will be cut to nothing
      const FileHandle file = ReadHandle(in);
      return in.good() ? delegations_.Recall(state, file) : kBadXdr;
    }
    case kOffload:
      return NFS4ERR_BAD_STATEID;
    case kRecallLayout:
      return kNoMatchingLayout;
    case kRecallAny: {
      const uint32_t kept_max = in.U32();
      const uint32_t words = in.U32();
      if (words > kBitmapWordsMax) return kBadXdr;
      const uint32_t types = words == 0 ? 0 : in.U32();
      for (uint32_t i = 1; i < words; ++i) in.U32();
      if (!in.good()) return kBadXdr;
      // RCA4_TYPE_MASK_RDATA_DLG, RCA4_TYPE_MASK_DIR_DLG.
      constexpr uint32_t kReadDelegations = 1, kDirectoryDelegations = 4;
      delegations_.RecallAny(kept_max, (types & kReadDelegations) != 0,
                             (types & kDirectoryDelegations) != 0);
      return NFS4_OK;
    }
    case kRecallSlot: {
      const uint32_t highest_slot = in.U32();
      if (!in.good()) return kBadXdr;
      run.session->highest.store(highest_slot);
      listener_.on_slots_recalled();
      return NFS4_OK;
    }
    default:
      return NFS4ERR_NOTSUPP;
  }
}

}  // namespace nfswalk::protocol
