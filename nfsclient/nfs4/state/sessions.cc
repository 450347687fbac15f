#include "nfsclient/nfs4/state/sessions.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cstddef>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/operation_names.h"

namespace nfswalk::protocol {
namespace {

// Data of a mebibyte, and what comes with it.
constexpr uint32_t kMessageBytesMax = (1 << 20) + 16 * 1024;
// Handles, attributes and names of two directories.
constexpr uint32_t kCachedBytesMax = 8 * 1024;
constexpr uint32_t kOperationsMax = 128;
// As many as Linux has at most (max_session_slots).
constexpr uint32_t kSlotsMax = rpc::Session::kSlotsMax;
constexpr ChannelAttributes kForeChannel{.request_bytes_max = kMessageBytesMax,
                                         .response_bytes_max = kMessageBytesMax,
                                         .cached_bytes_max = kCachedBytesMax,
                                         .operations_max = kOperationsMax,
                                         .slots = kSlotsMax};
constexpr ChannelAttributes kBackChannel{.request_bytes_max = rpc::BackChannel::kMessageBytesMax,
                                         .response_bytes_max = rpc::BackChannel::kMessageBytesMax,
                                         .cached_bytes_max = rpc::BackChannel::kMessageBytesMax,
                                         .operations_max = Callbacks::kOperationsMax,
                                         .slots = CallbackSlots::kSlots};

// The fewest that a client can live with: an OPEN.
constexpr uint32_t kOperationsMin = 16;
constexpr uint32_t kMessageBytesMin = 8 * 1024;

// SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED, SEQ4_STATUS_RESTART_RECLAIM_NEEDED.
constexpr uint32_t kStateIsLost = 0x8 | 0x100;
// SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED, SEQ4_STATUS_ADMIN_STATE_REVOKED. Until all of it is
// freed.
constexpr uint32_t kStateIsRevoked = 0x10 | 0x20;
// SEQ4_STATUS_CB_PATH_DOWN, SEQ4_STATUS_CB_PATH_DOWN_SESSION, SEQ4_STATUS_BACKCHANNEL_FAULT.
constexpr uint32_t kCannotCall = 0x1 | 0x200 | 0x400;
// With SEQ4_STATUS_RECALLABLE_STATE_REVOKED: calls about delegations may have been lost, or some of
// them are revoked.
constexpr uint32_t kEndsDelegations = kCannotCall | kStateIsRevoked | 0x40;
constexpr int kCompleteAlready = 10054;  // NFS4ERR_COMPLETE_ALREADY

bool IsUsable(const ChannelAttributes& fore) {
  return fore.slots >= 1 && fore.slots <= kSlotsMax && fore.operations_max >= kOperationsMin &&
         fore.request_bytes_max >= kMessageBytesMin && fore.response_bytes_max >= kMessageBytesMin;
}

// Answers to BIND_CONN_TO_SESSION that will be the same the next time: it was executed, for the
// fore channel alone, or the server does not do it. All others may be of a server that is not (yet)
// the session's.
bool IsRefusal(int nfsstat4) {
  return nfsstat4 == NFS4_OK || nfsstat4 == NFS4ERR_NOTSUPP || nfsstat4 == NFS4ERR_OP_ILLEGAL ||
         nfsstat4 == NFS4ERR_INVAL;
}

// Outside of a session an error of SEQUENCE is that of a server which has the wrong idea: to be
// told, not to be waited for.
void TellErrorsOfSequence(const CompoundReader& reader, ClientIds::Status& reply) {
  reply.error = reader.error();
  reply.status = reader.status();
  if (rpc::IsSequenceError(static_cast<uint32_t>(reply.status))) reply.error = std::errc::io_error;
}

}  // namespace

Sessions::Sessions(rpc::Caller& caller, Delegations& delegations, Listener listener)
    : caller_(caller),
      delegations_(delegations),
      listener_(std::move(listener)),
      callbacks_(caller.minor_version(), delegations,
                 {.on_slots_recalled = [this] { listener_.on_due(); }}),
      back_channel_(caller.OpenBackChannel(
          {.program = kCallbackProgram,
           .version = 1,
           .answer =
               [this](uint32_t procedure, rpc::XdrReader& arguments, rpc::XdrWriter& results) {
                 return callbacks_.Answer(procedure, arguments, results);
               },
           .on_lost = [this] { delegations_.EndAll(); }})) {}

bool Sessions::can_be_called() {
  return back_channel_ != nullptr && back_channel_->is_bound() &&
         (callbacks_.status_flags() & kEndsDelegations) == 0;
}

void Sessions::End() {
  if (back_channel_ != nullptr) back_channel_->End();
}

ClientIds::Granted Sessions::Get(uint64_t known, Budget& budget) {
  Granted granted;
  if (session_ != nullptr) {
    caller_.EndSession(session_->generation);
    if (lost_state_.load() == session_->generation) is_exchanged_ = has_state_ = false;
  }
  for (int tries = 0; tries < kTriesMax; ++tries) {
    granted.asked = Clock::now();
    if (!is_exchanged_) {
      static_cast<Status&>(granted) = Exchange(budget);
      if (granted.status == NFS4ERR_CLID_INUSE) {
        ChangeName();
        continue;
      }
      if (granted.error != std::errc{}) return granted;
      is_exchanged_ = true;
    }
    static_cast<Status&>(granted) = Create(budget);
    if (granted.error == std::errc{}) break;
    const bool is_gone = granted.status == NFS4ERR_STALE_CLIENTID ||
                         granted.status == static_cast<int>(rpc::kSeqMisordered);
    if (!is_gone) return granted;
    is_exchanged_ = false;
  }
  if (granted.error != std::errc{}) return granted;
  granted.id = client_id_;
  granted.limits = limits_;
  granted.has_state = has_state_ && known == client_id_;
  if (!granted.has_state) is_reclaimed_.store(false);
  has_state_ = true;
  return granted;
}

ClientIds::LeaseReply Sessions::Begin(Budget& budget) {
  caller_.UseSession(session_);
  BindBackChannel();
  if (earlier_) DestroyEarlier(budget);
  Compound compound;
  compound.PutRoot().GetLimits();
  return CallCompound<LeaseReply>(caller_, compound, credential_, budget,
                                  [](CompoundReader& reader, LeaseReply& reply) {
                                    DecodeLease(reader, reply);
                                    SetStatus(reader, reply);
                                  });
}

// In the background. The server's callbacks are of this session from now on. Without memory there
// are none.
void Sessions::BindBackChannel() try {
  if (back_channel_ == nullptr) return;
  const SessionId id = session_->id;
  callbacks_.Begin(session_);
  Compound compound;
  const rpc::Request request = compound.BindConnection(id).Encode();
  rpc::XdrWriter call;
  call.Bytes("").U32(caller_.minor_version()).U32(*request.operations);
  std::vector<std::byte> arguments(call.bytes().begin(), call.bytes().end());
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  back_channel_->Bind({.procedure = request.procedure,
                       .arguments = std::move(arguments),
                       .decide = [id](rpc::XdrReader& results) {
                         using Bound = rpc::BackChannel::Bound;
                         CompoundReader reader(results);
                         if (TakeBound(reader, id)) return Bound::kYes;
                         return IsRefusal(reader.status()) ? Bound::kNo : Bound::kLater;
                       }});
  // Calls of the session before may have been lost with it; from now on the server cannot call.
  delegations_.EndAll();
} catch (const std::bad_alloc&) {
  back_channel_->NoteLost();
  delegations_.EndAll();
}

// It may be one that this client has given up, not the server.
void Sessions::DestroyEarlier(Budget& budget) {
  Compound compound;
  compound.DestroySession(*std::exchange(earlier_, std::nullopt));
  (void)CallCompound<Status>(caller_, compound, credential_, budget,
                             [](CompoundReader& reader, Status& reply) {
                               reader.Next(kOpDestroySession);
                               TellErrorsOfSequence(reader, reply);
                             });
}

ClientIds::Status Sessions::Exchange(Budget& budget) {
  struct Reply : Status {
    ExchangeGrant grant;
  };
  Compound compound;
  compound.ExchangeId(verifier_, name_);
  const auto reply = CallCompound<Reply>(caller_, compound, credential_, budget,
                                         [](CompoundReader& reader, Reply& exchanged) {
                                           TakeExchange(reader, exchanged.grant);
                                           SetStatus(reader, exchanged);
                                         });
  if (reply.error != std::errc{}) return reply;
  has_state_ = reply.grant.is_confirmed && has_state_ && reply.grant.client_id == client_id_;
  client_id_ = reply.grant.client_id;
  sequence_ = reply.grant.sequence;
  return reply;
}

ClientIds::Status Sessions::Create(Budget& budget) {
  struct Reply : Status {
    SessionGrant grant;
  };
  Compound compound;
  compound.CreateSession(
      {.client_id = client_id_, .sequence = sequence_, .fore = kForeChannel, .back = kBackChannel});
  auto reply = CallCompound<Reply>(caller_, compound, credential_, budget,
                                   [](CompoundReader& reader, Reply& created) {
                                     TakeSession(reader, created.grant);
                                     TellErrorsOfSequence(reader, created);
                                   });
  if (reply.error != std::errc{}) return reply;
  ++sequence_;
  reply.error = Prepare(reply.grant);
  return reply;
}

std::errc Sessions::Prepare(const SessionGrant& grant) try {
  if (!IsUsable(grant.fore)) return std::errc::protocol_error;
  auto session = std::make_shared<rpc::Session>();
  session->id = grant.id;
  session->generation = session_ == nullptr ? 1 : session_->generation + 1;
  session->slots = grant.fore.slots;
  session->on_end = [this](uint64_t) { listener_.on_end(); };
  session->on_status = [this](uint64_t generation, uint32_t flags, uint32_t added) {
    TakeStatus(generation, flags, added);
  };
  limits_ = {.operations_max = grant.fore.operations_max - 1,
             .request_bytes_max = grant.fore.request_bytes_max,
             .response_bytes_max = grant.fore.response_bytes_max};
  if (session_ != nullptr) earlier_ = session_->id;
  session_ = std::move(session);
  return {};
} catch (const std::bad_alloc&) {
  return std::errc::not_enough_memory;
}

// sr_status_flags of a reply (RFC 8881 18.46.3).
void Sessions::TakeStatus(uint64_t generation, uint32_t flags, uint32_t added) {
  if ((flags & kStateIsRevoked) != 0) listener_.on_revoked();
  if ((added & kEndsDelegations) != 0) delegations_.EndAll();
  if ((added & kCannotCall) != 0 && back_channel_ != nullptr) back_channel_->NoteLost();
  // Until this client id's RECLAIM_COMPLETE it is what is being done.
  if ((added & kStateIsLost) == 0 || !is_reclaimed_.load()) return;
  lost_state_.store(generation);
  listener_.on_end();
}

ClientIds::Status Sessions::Renew(uint64_t, Budget& budget) {
  Compound compound;
  compound.CountAsSequence();
  return CallCompound<Status>(
      caller_, compound, credential_, budget, [](CompoundReader& reader, Status& reply) {
        // The session ends with its errors, and is not asked again.
        reply.status = reader.status();
        const bool is_ended = rpc::IsSequenceError(static_cast<uint32_t>(reply.status));
        if (!is_ended) reply.error = reader.error();
      });
}

ClientIds::Status Sessions::CompleteReclaim(Budget& budget) {
  Compound compound;
  compound.CompleteReclaim();
  auto reply = CallCompound<Status>(caller_, compound, credential_, budget,
                                    [](CompoundReader& reader, Status& completed) {
                                      reader.Next(kOpReclaimComplete);
                                      SetStatus(reader, completed);
                                    });
  if (reply.status == kCompleteAlready) reply = {};
  if (reply.error == std::errc{}) is_reclaimed_.store(true);
  return reply;
}

void Sessions::Discard(uint64_t id, Budget& budget) {
  if (session_ == nullptr) return;
  const auto send = [&](Compound& compound, int operation) {
    (void)CallCompound<Status>(caller_, compound, credential_, budget,
                               [operation](CompoundReader& reader, Status& reply) {
                                 reader.Next(operation);
                                 TellErrorsOfSequence(reader, reply);
                               });
  };
  Compound session, client;
  send(session.DestroySession(session_->id), kOpDestroySession);
  send(client.DestroyClientId(id), kOpDestroyClientId);
}

}  // namespace nfswalk::protocol
